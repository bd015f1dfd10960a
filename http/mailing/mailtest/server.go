// Package mailtest is a mail server for tests and benchmarks: it stores the accepted messages in memory and answers as
// the test sets.
package mailtest

import (
	"bufio"
	"fmt"
	"net"
	"net/textproto"
	"strings"
	"sync"
)

// Behaviour is the server's behaviour for a recipient.
type Behaviour struct {
	// Rcpt and Data are the answers to the recipient and to the message; empty accepts them.
	Rcpt, Data string
	// Drop ends the connection after the message came, without an answer. Keep then decides whether the message counts
	// as accepted.
	Drop, Keep bool
	// Silent sends no answer to the message until the server is closed.
	Silent bool
}

// Server accepts messages over SMTP.
type Server struct {
	// Answer returns the behaviour for a recipient that is offered for the nth time, from 1; nil accepts everything.
	Answer func(to string, nth int) Behaviour
	// Mail is the answer to the sender; empty accepts it.
	Mail string
	// Bodies stores the messages, the last one of each address.
	Bodies bool

	listener net.Listener
	mu       sync.Mutex
	open     map[net.Conn]bool
	offered  map[string]int
	taken    map[string]int
	bodies   map[string]string
	down     bool
	sessions sync.WaitGroup
}

// Start begins to listen at an address of this machine; 127.0.0.1:0 chooses a port.
func (s *Server) Start(address string) (err error) {
	s.open, s.offered, s.taken, s.bodies = map[net.Conn]bool{}, map[string]int{}, map[string]int{}, map[string]string{}
	if s.listener, err = net.Listen("tcp", address); err != nil { //nolint:noctx // it is local
		return err
	}
	s.sessions.Go(s.accept)
	return nil
}

// Addr returns the address of the listener.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// URL returns the address for SVC_MAIL_SERVER.
func (s *Server) URL() string { return "smtp://" + s.Addr() }

// Close ends the server and all connections.
func (s *Server) Close() {
	_ = s.listener.Close() // An error of a local close does not matter.
	s.cut()
	s.sessions.Wait()
}

// Down makes the server end every connection at once, until it is up again.
func (s *Server) Down(down bool) {
	s.mu.Lock()
	s.down = down
	s.mu.Unlock()
	if down {
		s.cut()
	}
}

func (s *Server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.open {
		_ = conn.Close() // An error of a local close does not matter.
	}
}

// Taken returns the number of accepted messages for each address.
func (s *Server) Taken() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]int, len(s.taken))
	for to, count := range s.taken {
		all[to] = count
	}
	return all
}

// Count returns the number of addresses that received a message, and the number of accepted messages.
func (s *Server) Count() (addresses, messages int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, count := range s.taken {
		messages += count
	}
	return len(s.taken), messages
}

// Body returns the last message to an address.
func (s *Server) Body(to string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies[to]
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		down := s.down
		s.open[conn] = true
		s.mu.Unlock()
		s.sessions.Go(func() {
			if !down {
				s.serve(conn)
			}
			_ = conn.Close() // An error of a local close does not matter.
			s.mu.Lock()
			delete(s.open, conn)
			s.mu.Unlock()
		})
	}
}

// serve speaks with one client.
func (s *Server) serve(conn net.Conn) {
	in := textproto.NewReader(bufio.NewReader(conn))
	say := func(line string) bool {
		_, err := fmt.Fprintf(conn, "%s\r\n", line)
		return err == nil
	}
	to, how := "", Behaviour{}
	good := say("220 mailtest ESMTP")
	for good {
		line, err := in.ReadLine()
		if err != nil {
			return
		}
		verb, _, _ := strings.Cut(strings.ToUpper(line), " ")
		switch verb {
		case "EHLO", "HELO":
			good = say("250-mailtest") && say("250 8BITMIME")
		case "MAIL":
			good = say(answer(s.Mail))
		case "RCPT":
			to, how = s.offer(line)
			good = say(answer(how.Rcpt))
		case "DATA":
			good = say("354 go on") && s.message(in, to, how, say)
		case "QUIT":
			say("221 bye")
			return
		default:
			good = say("250 ok")
		}
	}
}

func answer(line string) string {
	if line == "" {
		return "250 2.0.0 ok"
	}
	return line
}

// offer reads a recipient and returns its behaviour.
func (s *Server) offer(line string) (to string, how Behaviour) {
	_, rest, _ := strings.Cut(line, "<")
	to, _, _ = strings.Cut(rest, ">")
	s.mu.Lock()
	s.offered[to]++
	nth := s.offered[to]
	s.mu.Unlock()
	if s.Answer != nil {
		how = s.Answer(to, nth)
	}
	return to, how
}

// message reads a message and reports whether the connection continues.
func (s *Server) message(in *textproto.Reader, to string, how Behaviour, say func(string) bool) bool {
	body, err := in.ReadDotBytes()
	if err != nil {
		return false
	}
	if how.Silent {
		_, _ = in.ReadLine() // This waits until the connection ends.
		return false
	}
	if how.Data == "" && (!how.Drop || how.Keep) {
		s.mu.Lock()
		s.taken[to]++
		if s.Bodies {
			s.bodies[to] = string(body)
		}
		s.mu.Unlock()
	}
	return !how.Drop && say(answer(how.Data))
}
