// Package main evaluates flags with published Go SDKs and prints their answers as JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/open-feature/go-sdk-contrib/providers/ofrep"
	"github.com/open-feature/go-sdk/openfeature"
	"github.com/posthog/posthog-go"
)

func main() {
	answers := map[string]any{}
	err := openFeature(answers)
	if err == nil {
		err = postHog(answers)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(answers)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// openFeature evaluates with the provider of the OpenFeature Remote Evaluation Protocol.
func openFeature(answers map[string]any) error {
	provider := ofrep.NewProvider(os.Getenv("SVC_URL"), ofrep.WithBearerToken(os.Getenv("SVC_KEY")))
	if err := openfeature.SetProviderAndWait(provider); err != nil {
		return fmt.Errorf("setting the provider: %w", err)
	}
	ctx, client := context.Background(), openfeature.NewClient("shop")
	staff := openfeature.NewEvaluationContext("u1", map[string]any{"plan": "staff"})
	checkout, err := client.BooleanValueDetails(ctx, "checkout", false, staff)
	if err != nil {
		return fmt.Errorf("evaluating checkout: %w", err)
	}
	limit, err := client.IntValue(ctx, "limit", 1, staff)
	if err != nil {
		return fmt.Errorf("evaluating limit: %w", err)
	}
	colour, err := client.ObjectValue(ctx, "colour", nil, staff)
	if err != nil {
		return fmt.Errorf("evaluating colour: %w", err)
	}
	missing, err := client.StringValueDetails(ctx, "nothing", "none", staff)
	answers["openfeature"] = map[string]any{
		"checkout": checkout.Value, "reason": checkout.Reason, "limit": limit, "colour": colour,
		"missing": missing.Value, "missingCode": missing.ErrorCode, "failed": err != nil,
	}
	return nil
}

// postHog evaluates with PostHog's SDK.
func postHog(answers map[string]any) error {
	client, err := posthog.NewWithConfig(os.Getenv("SVC_KEY"), posthog.Config{Endpoint: os.Getenv("SVC_URL")})
	if err != nil {
		return fmt.Errorf("opening the client: %w", err)
	}
	quiet := false
	ask := func(flag string) posthog.FeatureFlagPayload {
		return posthog.FeatureFlagPayload{Key: flag, DistinctId: "u1", SendFeatureFlagEvents: &quiet, PersonProperties: posthog.NewProperties().Set("plan", "staff")}
	}
	checkout, err := client.IsFeatureEnabled(ask("checkout"))
	if err != nil {
		return fmt.Errorf("evaluating checkout: %w", err)
	}
	colour, err := client.GetFeatureFlag(ask("colour"))
	if err != nil {
		return fmt.Errorf("evaluating colour: %w", err)
	}
	payload, err := client.GetFeatureFlagPayload(ask("colour"))
	if err != nil {
		return fmt.Errorf("reading the payload of colour: %w", err)
	}
	answers["posthog"] = map[string]any{"checkout": checkout, "colour": colour, "payload": payload}
	return nil
}
