package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"
)

func einoError(err error) seen {
	var refused *openai.APIError
	if errors.As(err, &refused) {
		return seen{"status": refused.HTTPStatusCode, "code": refused.Code}
	}
	return seen{}
}

func einoCases() []testCase {
	ctx := context.Background()
	question := []*schema.Message{schema.UserMessage(ask)}
	with := func(name string, more func(*openai.ChatModelConfig)) *openai.ChatModel {
		config := openai.ChatModelConfig{APIKey: key, BaseURL: address + "/api/v1", Model: model(name)}
		if more != nil {
			more(&config)
		}
		chat, err := openai.NewChatModel(ctx, &config)
		if err != nil {
			panic(err)
		}
		return chat
	}
	refused := func(name string, more func(*openai.ChatModelConfig)) func() (seen, error) {
		return func() (seen, error) {
			_, err := with(name, more).Generate(ctx, question)
			return nil, err
		}
	}
	streamed := func(name string, most int) (string, int, error) {
		stream, err := with(name, nil).Stream(ctx, question)
		if err != nil {
			return "", 0, err
		}
		defer stream.Close()
		text, chunks := "", 0
		for chunks < most {
			chunk, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return text, chunks, err
			}
			chunks++
			text += chunk.Content
		}
		return text, chunks, nil
	}
	return []testCase{
		{"simple", func() (seen, error) {
			answer, err := with("chat", nil).Generate(ctx, question)
			if err != nil {
				return nil, err
			}
			return seen{"text": answer.Content, "finish": answer.ResponseMeta.FinishReason}, nil
		}},
		{"stream", func() (seen, error) {
			text, _, err := streamed("chat", 1_000)
			return seen{"text": text}, err
		}},
		{"tools", func() (seen, error) {
			city := map[string]*schema.ParameterInfo{"city": {Type: schema.String, Required: true}}
			tool := schema.ToolInfo{Name: "weather", Desc: "Tells it", ParamsOneOf: schema.NewParamsOneOfByParams(city)}
			chat, err := with("chat", nil).WithTools([]*schema.ToolInfo{&tool})
			if err != nil {
				return nil, err
			}
			called, err := chat.Generate(ctx, question)
			if err != nil {
				return nil, err
			}
			call := called.ToolCalls[0]
			answer, err := chat.Generate(ctx, append(question, called, schema.ToolMessage("sunny", call.ID)))
			if err != nil {
				return nil, err
			}
			found, err := cityOf(call.Function.Arguments)
			return seen{"city": found, "text": answer.Content}, err
		}},
		{"structured", func() (seen, error) {
			asked := jsonschema.Schema{}
			text, _ := json.Marshal(weather)
			if err := json.Unmarshal(text, &asked); err != nil {
				return nil, err
			}
			answer, err := with("structured", func(config *openai.ChatModelConfig) {
				config.ResponseFormat = &openai.ChatCompletionResponseFormat{
					Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
					JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
						Name: "weather", Strict: true, JSONSchema: &asked,
					},
				}
			}).Generate(ctx, question)
			if err != nil {
				return nil, err
			}
			city, err := cityOf(answer.Content)
			return seen{"city": city}, err
		}},
		{"usage", func() (seen, error) {
			answer, err := with("cached", nil).Generate(ctx, question)
			if err != nil {
				return nil, err
			}
			usage := answer.ResponseMeta.Usage
			cached := usage.PromptTokenDetails.CachedTokens
			return seen{"input": usage.PromptTokens, "output": usage.CompletionTokens, "cached": cached}, nil
		}},
		{"wrong key", refused("chat", func(config *openai.ChatModelConfig) { config.APIKey = "sk-tg-v1-wrong" })},
		{"no credits", refused("chat", func(config *openai.ChatModelConfig) { config.APIKey = emptyKey })},
		{"bad request", refused("chat", func(config *openai.ChatModelConfig) {
			temperature := float32(9)
			config.Temperature = &temperature
		})},
		{"unknown model", refused("none", nil)},
		{"rate limit", refused("limited", nil)},
		{"provider fails", refused("failing", nil)},
		{"breaks off", func() (seen, error) {
			_, _, err := streamed("breaking", 1_000)
			return nil, err
		}},
		{"cancel", func() (seen, error) {
			_, chunks, err := streamed("patient", 3)
			return seen{"chunks": chunks}, err
		}},
		{"time-out", refused("slow", func(config *openai.ChatModelConfig) { config.Timeout = 500 * time.Millisecond })},
	}
}
