// Command gen compiles the .proto files of its parent folder into Go. It needs only the Go toolchain: the compiler is a
// library and the generators are tools of this module.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	if err := generate(context.Background(), "protos"); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// generate compiles every .proto file of dir and writes the Go files into dir.
func generate(ctx context.Context, dir string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*.proto"))
	if err != nil {
		return fmt.Errorf("listing the proto files: %w", err)
	}
	slices.Sort(paths)
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = filepath.Base(path)
	}
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{dir}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(ctx, names...)
	if err != nil {
		return fmt.Errorf("compiling: %w", err)
	}
	var descriptors []*descriptorpb.FileDescriptorProto
	for _, file := range files {
		descriptors = append(descriptors, protodesc.ToFileDescriptorProto(file))
	}
	if err := run(ctx, dir, "protoc-gen-go", "paths=source_relative", names, descriptors); err != nil {
		return err
	}
	for _, name := range names {
		if err := run(ctx, dir, "protoc-gen-go-vtproto", "paths=source_relative,"+features(name), []string{name}, descriptors); err != nil {
			return err
		}
	}
	return nil
}

// features returns the functions that are generated for a file. Records are decoded without copies, and their messages
// are pooled; calls are few and own their text.
func features(name string) string {
	if name == "ingest.proto" {
		return "features=marshal+unmarshal_unsafe+size+pool,pool=svc/protos.Record,pool=svc/protos.Event,pool=svc/protos.Occurrence,pool=svc/protos.MetricPoint"
	}
	return "features=marshal+unmarshal+size"
}

// run calls one generator and writes its output files.
func run(ctx context.Context, dir, tool, parameter string, names []string, files []*descriptorpb.FileDescriptorProto) error {
	request, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{FileToGenerate: names, Parameter: &parameter, ProtoFile: files})
	if err != nil {
		return fmt.Errorf("encoding the request of %s: %w", tool, err)
	}
	command := exec.CommandContext(ctx, "go", "tool", tool)
	command.Stdin, command.Stderr = bytes.NewReader(request), os.Stderr
	output, err := command.Output()
	if err != nil {
		return fmt.Errorf("running %s: %w", tool, err)
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(output, &response); err != nil {
		return fmt.Errorf("decoding the answer of %s: %w", tool, err)
	}
	if response.Error != nil {
		return fmt.Errorf("running %s: %s", tool, *response.Error)
	}
	for _, file := range response.File {
		path := filepath.Join(dir, file.GetName())
		if err := os.WriteFile(path, []byte(file.GetContent()), 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
	}
	return nil
}
