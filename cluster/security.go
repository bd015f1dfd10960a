package cluster

import (
	"context"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"runtime/debug"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
)

// LeastSecret is the minimum length of a cluster secret, in bytes.
const LeastSecret = 16

// security creates and checks the connections between nodes. All nodes derive the same key pair from the shared secret
// and present a certificate of it. A connection is accepted only if both sides prove that they have the key. No
// certificate authority and no certificate files are needed.
type security struct{ config *tls.Config }

var (
	errSecretShort = fmt.Errorf("the cluster secret is shorter than %d characters", LeastSecret)
	errSecretOther = errors.New("the other node has another cluster secret")
)

func newSecurity(secret string) (*security, error) {
	if len(secret) < LeastSecret {
		return nil, errSecretShort
	}
	seed, err := hkdf.Key(sha256.New, []byte(secret), nil, "svc node identity", ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("deriving the node key: %w", err)
	}
	key := ed25519.NewKeyFromSeed(seed)
	public := key.Public().(ed25519.PublicKey)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "svc node"},
		// Only the key matters, not the dates, because clocks may differ.
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
	if err != nil {
		return nil, fmt.Errorf("making the node certificate: %w", err)
	}
	return &security{&tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}},
		MinVersion:   tls.VersionTLS13,
		NextProtos:   []string{"h2"},
		ClientAuth:   tls.RequireAnyClientCert,
		// The name and the issuer mean nothing here. VerifyConnection demands the key itself from both sides, even if a
		// session is resumed.
		InsecureSkipVerify: true, //nolint:gosec // see above
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 {
				return errSecretOther
			}
			shown, ok := state.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
			if !ok || !shown.Equal(public) {
				return errSecretOther
			}
			return nil
		},
	}}, nil
}

// Keep-alive times: a peer that is silent for their sum counts as gone.
const (
	aliveTime  = 10 * time.Second
	answerTime = 3 * time.Second
)

func (s *security) serverOptions(logger *slog.Logger) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.Creds(credentials.NewTLS(s.config.Clone())),
		grpc.MaxRecvMsgSize(frameBytes),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: aliveTime / 2, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: aliveTime, Timeout: answerTime}),
		grpc.StreamInterceptor(recoverStream(logger)),
	}
}

func (s *security) dialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(credentials.NewTLS(s.config.Clone())),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(frameBytes)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: aliveTime, Timeout: answerTime, PermitWithoutStream: true}),
	}
}

// probe connects, proves the secret once, and disconnects.
func (s *security) probe(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	dialer := &tls.Dialer{Config: s.config}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	return conn.Close()
}

// recoverStream ends only the stream, instead of the process, if a message makes the library's reader panic. A message
// of an unknown type does so.
func recoverStream(logger *slog.Logger) grpc.StreamServerInterceptor {
	return func(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
		defer func() {
			if cause := recover(); cause != nil {
				logger.Error("a message of another node could not be read", "cause", cause, "stack", string(debug.Stack()))
				err = errors.New("unreadable message")
			}
		}()
		return handler(server, stream)
	}
}
