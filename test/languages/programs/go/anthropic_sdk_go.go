package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

func anthropicError(err error) seen {
	var refused *anthropic.Error
	if !errors.As(err, &refused) {
		return seen{}
	}
	var body struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	_ = json.Unmarshal([]byte(refused.RawJSON()), &body)
	if body.Error.Code == "" {
		return seen{"status": refused.StatusCode}
	}
	return seen{"status": refused.StatusCode, "code": body.Error.Code}
}

func anthropicCases() []testCase {
	ctx := context.Background()
	client := anthropic.NewClient(option.WithBaseURL(address), option.WithAPIKey(key), option.WithMaxRetries(0))
	question := func(name string) anthropic.MessageNewParams {
		return anthropic.MessageNewParams{
			Model:     anthropic.Model(model(name)),
			MaxTokens: 200,
			Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(ask))},
		}
	}
	refused := func(name string, more ...option.RequestOption) func() (seen, error) {
		return func() (seen, error) {
			_, err := client.Messages.New(ctx, question(name), more...)
			return nil, err
		}
	}
	// the SDK's own behavior after a timeout, with its default number of tries
	askedAgain := func(more ...option.RequestOption) func() (seen, error) {
		return func() (seen, error) {
			impatient := anthropic.NewClient(option.WithBaseURL(address), option.WithAPIKey(key))
			more = append(more, option.WithRequestTimeout(time.Second))
			answer, err := impatient.Messages.New(ctx, question("late"), more...)
			if err != nil {
				return nil, err
			}
			return seen{"text": answer.Content[0].Text}, nil
		}
	}
	return []testCase{
		{"simple", func() (seen, error) {
			answer, err := client.Messages.New(ctx, question("chat"))
			if err != nil {
				return nil, err
			}
			return seen{"text": answer.Content[0].Text, "finish": answer.StopReason}, nil
		}},
		{"stream", func() (seen, error) {
			stream := client.Messages.NewStreaming(ctx, question("chat"))
			whole := anthropic.Message{}
			for stream.Next() {
				if err := whole.Accumulate(stream.Current()); err != nil {
					return nil, err
				}
			}
			if err := stream.Err(); err != nil {
				return nil, err
			}
			return seen{"text": whole.Content[0].Text, "finish": whole.StopReason}, nil
		}},
		{"tools", func() (seen, error) {
			params := question("chat")
			schema := anthropic.ToolInputSchemaParam{Properties: weather["properties"], Required: []string{"city"}}
			params.Tools = []anthropic.ToolUnionParam{anthropic.ToolUnionParamOfTool(schema, "weather")}
			called, err := client.Messages.New(ctx, params)
			if err != nil {
				return nil, err
			}
			call := called.Content[0]
			result := anthropic.NewUserMessage(anthropic.NewToolResultBlock(call.ID, "sunny", false))
			params.Messages = append(params.Messages, called.ToParam(), result)
			answer, err := client.Messages.New(ctx, params)
			if err != nil {
				return nil, err
			}
			city, err := cityOf(string(call.Input))
			return seen{"city": city, "text": answer.Content[0].Text}, err
		}},
		{"usage", func() (seen, error) {
			answer, err := client.Messages.New(ctx, question("cached"))
			if err != nil {
				return nil, err
			}
			usage := answer.Usage
			cached := usage.CacheReadInputTokens
			return seen{"input": usage.InputTokens + cached, "output": usage.OutputTokens, "cached": cached}, nil
		}},
		{"models", func() (seen, error) {
			ids := []string{}
			pages := client.Models.ListAutoPaging(ctx, anthropic.ModelListParams{})
			for pages.Next() {
				ids = append(ids, pages.Current().ID)
			}
			return seen{"models": ids}, pages.Err()
		}},
		{"wrong key", refused("chat", option.WithAPIKey("sk-tg-v1-wrong"))},
		{"no credits", refused("chat", option.WithAPIKey(emptyKey))},
		{"bad request", refused("chat", option.WithJSONSet("temperature", 9))},
		{"unknown model", refused("none")},
		{"rate limit", refused("limited")},
		{"provider fails", refused("failing")},
		{"breaks off", func() (seen, error) {
			stream := client.Messages.NewStreaming(ctx, question("breaking"))
			for stream.Next() {
			}
			return nil, stream.Err()
		}},
		{"cancel", func() (seen, error) {
			stream := client.Messages.NewStreaming(ctx, question("patient"))
			chunks := 0
			for chunks < 3 && stream.Next() {
				chunks++
			}
			return seen{"chunks": chunks}, stream.Close()
		}},
		{"time-out", refused("slow", option.WithRequestTimeout(500*time.Millisecond))},
		{"asked again", askedAgain()},
		{"asked again with a key", askedAgain(option.WithHeader("Idempotency-Key", rand.Text()))},
	}
}
