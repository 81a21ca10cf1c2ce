//! async-openai.

mod asked;

use asked::{environment, model, tell_line, weather};
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::types::chat::{CreateChatCompletionRequest, CreateChatCompletionResponse};
use async_openai::Client;
use futures::StreamExt;
use serde_json::{json, Value};
use std::time::Duration;

type Seen = Result<Value, Box<dyn std::error::Error>>;

fn client(key: &str) -> Client<OpenAIConfig> {
    let base = format!("{}/api/v1", environment("TOLLGATE_URL"));
    Client::with_config(OpenAIConfig::new().with_api_base(base).with_api_key(key))
}

fn usual() -> Client<OpenAIConfig> {
    client(&environment("TOLLGATE_KEY"))
}

/// Returns a question to a model, with further members, in the client's types.
fn question(name: &str, more: Value) -> Result<CreateChatCompletionRequest, serde_json::Error> {
    let mut body = json!({
        "model": model(name),
        "messages": [{"role": "user", "content": "What is the weather in Paris?"}],
    });
    if let (Some(members), Value::Object(added)) = (body.as_object_mut(), more) {
        members.extend(added);
    }
    serde_json::from_value(body)
}

async fn asked(
    client: Client<OpenAIConfig>,
    name: &str,
    more: Value,
) -> Result<CreateChatCompletionResponse, Box<dyn std::error::Error>> {
    Ok(client.chat().create(question(name, more)?).await?)
}

async fn simple() -> Seen {
    let answer = asked(usual(), "chat", json!({})).await?;
    let choice = &answer.choices[0];
    Ok(json!({"text": choice.message.content, "finish": choice.finish_reason}))
}

/// Returns the text of at most `most` chunks of a stream.
async fn streamed(name: &str, most: usize) -> Seen {
    let mut stream = usual().chat().create_stream(question(name, json!({}))?).await?;
    let (mut text, mut chunks) = (String::new(), 0);
    while chunks < most {
        let Some(chunk) = stream.next().await else { break };
        for choice in chunk?.choices {
            text += &choice.delta.content.unwrap_or_default();
        }
        chunks += 1;
    }
    Ok(json!({"text": text, "chunks": chunks}))
}

async fn tools() -> Seen {
    let tools = json!([{"type": "function", "function": {"name": "weather", "parameters": weather()}}]);
    let called = asked(usual(), "chat", json!({"tools": tools})).await?;
    let message = serde_json::to_value(&called.choices[0].message)?;
    let call = &message["tool_calls"][0];
    let history = json!([
        {"role": "user", "content": "What is the weather in Paris?"},
        {"role": "assistant", "tool_calls": message["tool_calls"]},
        {"role": "tool", "tool_call_id": call["id"], "content": "sunny"},
    ]);
    let answer = asked(usual(), "chat", json!({"tools": tools, "messages": history})).await?;
    let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap_or_default())?;
    Ok(json!({"city": arguments["city"], "text": answer.choices[0].message.content}))
}

async fn structured() -> Seen {
    let schema = json!({"name": "weather", "schema": weather(), "strict": true});
    let format = json!({"response_format": {"type": "json_schema", "json_schema": schema}});
    let answer = asked(usual(), "structured", format).await?;
    let text = answer.choices[0].message.content.clone().unwrap_or_default();
    let read: Value = serde_json::from_str(&text)?;
    Ok(json!({"city": read["city"]}))
}

async fn usage() -> Seen {
    let usage = asked(usual(), "cached", json!({})).await?.usage.ok_or("no usage")?;
    let cached = usage.prompt_tokens_details.and_then(|details| details.cached_tokens);
    Ok(json!({"input": usage.prompt_tokens, "output": usage.completion_tokens, "cached": cached}))
}

async fn models() -> Seen {
    let list = usual().models().list().await?;
    let ids: Vec<String> = list.data.into_iter().map(|one| one.id).collect();
    let single = usual().models().retrieve(&model("chat")).await?;
    Ok(json!({"models": ids, "model": single.id}))
}

async fn refused(key: &str, name: &str, more: Value) -> Seen {
    asked(client(key), name, more).await.map(|_| json!({}))
}

fn tell(case: &str, seen: Seen) {
    tell_line(case, seen, |error| match error.downcast_ref::<OpenAIError>() {
        Some(OpenAIError::ApiError(refused)) => {
            json!({"status": refused.status_code.as_u16(), "code": refused.api_error.code})
        }
        _ => json!({}),
    });
}

#[tokio::main]
async fn main() {
    let key = environment("TOLLGATE_KEY");
    tell("simple", simple().await);
    tell("stream", streamed("chat", usize::MAX).await);
    tell("tools", tools().await);
    tell("structured", structured().await);
    tell("usage", usage().await);
    tell("models", models().await);
    tell("wrong key", refused("sk-tg-v1-wrong", "chat", json!({})).await);
    tell("no credits", refused(&environment("TOLLGATE_EMPTY_KEY"), "chat", json!({})).await);
    tell("bad request", refused(&key, "chat", json!({"temperature": 9.0})).await);
    tell("unknown model", refused(&key, "none", json!({})).await);
    tell("rate limit", refused(&key, "limited", json!({})).await);
    tell("provider fails", refused(&key, "failing", json!({})).await);
    tell("breaks off", streamed("breaking", usize::MAX).await);
    tell("cancel", streamed("patient", 3).await.map(|seen| json!({"chunks": seen["chunks"]})));
    let slow = tokio::time::timeout(Duration::from_millis(500), refused(&key, "slow", json!({}))).await;
    tell("time-out", slow.unwrap_or_else(|late| Err(late.into())));
}
