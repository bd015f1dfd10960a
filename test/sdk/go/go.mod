module svc/test/sdk/go

go 1.26.0

require (
	github.com/open-feature/go-sdk v1.11.0
	github.com/open-feature/go-sdk-contrib/providers/ofrep v0.1.5
	github.com/posthog/posthog-go v1.5.2
)

require (
	github.com/go-logr/logr v1.4.1 // indirect
	golang.org/x/exp v0.0.0-20240205201215-2c58cdc269a3 // indirect
)
