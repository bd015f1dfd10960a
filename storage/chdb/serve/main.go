// Command serve serves an engine by an address until it is stopped: a store apart from the nodes that use it, so that a
// test can take it away from all of them.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"svc/storage/chdb"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func run() error {
	dir := flag.String("dir", "store", "folder of the data")
	addr := flag.String("addr", "127.0.0.1:8123", "where ClickHouse's HTTP is spoken")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	library, err := chdb.FindLibrary(os.Getenv("SVC_CHDB_LIB"))
	if err != nil {
		return err
	}
	engine, err := chdb.Open(ctx, chdb.Config{Library: library, Dir: *dir, Listen: *addr, Logger: slog.Default()})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return engine.Close()
}
