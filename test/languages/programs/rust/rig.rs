//! rig, through chat completions or messages, depending on the argument.

mod asked;

use asked::{environment, model, tell_line, weather};
use futures::StreamExt;
use rig_core::completion::{CompletionRequest, CompletionResponse, ToolDefinition};
use rig_core::message::Message;
use rig_core::model::ModelList;
use rig_core::operation::Completion;
use rig_core::providers::anthropic::{Anthropic, AnthropicConfig};
use rig_core::providers::openai::{OpenAI, OpenAIConfig};
use rig_core::schemars::Schema;
use rig_core::streaming::{Item, StreamEvent};
use rig_core::{DynModel, ProviderError};
use serde_json::{json, Value};
use std::time::Duration;

type Seen = Result<Value, Box<dyn std::error::Error>>;

enum Client {
    Chat(OpenAI),
    Messages(Anthropic),
}

fn client(key: &str) -> Client {
    let url = environment("TOLLGATE_URL");
    if std::env::args().nth(1).as_deref() == Some("messages") {
        return Client::Messages(AnthropicConfig::new(key).with_base_url(url).client());
    }
    Client::Chat(OpenAIConfig::new(key).with_base_url(format!("{url}/api/v1")).client())
}

impl Client {
    fn model(&self, name: &str) -> DynModel<Completion> {
        match self {
            Client::Chat(openai) => openai.chat(model(name)).erase(),
            Client::Messages(anthropic) => anthropic.completion(model(name)).erase(),
        }
    }

    async fn list(&self) -> Result<ModelList, ProviderError> {
        match self {
            Client::Chat(openai) => openai.list_models().await,
            Client::Messages(anthropic) => anthropic.list_models().await,
        }
    }
}

fn usual(name: &str) -> DynModel<Completion> {
    client(&environment("TOLLGATE_KEY")).model(name)
}

fn question() -> CompletionRequest {
    CompletionRequest::new("What is the weather in Paris?").max_tokens(500)
}

async fn asked(name: &str, request: CompletionRequest) -> Result<CompletionResponse, ProviderError> {
    usual(name).call(request).await
}

async fn simple() -> Seen {
    let answer = asked("chat", question()).await?;
    Ok(json!({"text": answer.text()}))
}

/// Returns the text of at most `most` pieces of a stream.
async fn streamed(name: &str, most: usize) -> Seen {
    let mut stream = usual(name).stream(question())?;
    let (mut text, mut chunks) = (String::new(), 0);
    while chunks < most {
        let Some(item) = stream.next().await else { break };
        if let Item::Event(StreamEvent::Text { text: piece, .. }) = item? {
            text += &piece;
            chunks += 1;
        }
    }
    Ok(json!({"text": text, "chunks": chunks}))
}

async fn tools() -> Seen {
    let tool = ToolDefinition::new("weather".try_into()?, "The weather of a city", weather());
    let called = asked("chat", question().tool(tool.clone())).await?;
    let call = called.tool_calls().next().ok_or("no call")?.clone();
    let history = vec![Message::user("What is the weather in Paris?"), called.message().ok_or("no message")?];
    let result = Message::tool_result(call.id.clone(), call.function.name.clone(), "sunny");
    let request = CompletionRequest::new(result).messages(history).max_tokens(500).tool(tool);
    let answer = asked("chat", request).await?;
    Ok(json!({"city": call.function.arguments["city"], "text": answer.text()}))
}

async fn structured() -> Seen {
    let schema: Schema = serde_json::from_value(weather())?;
    let answer = asked("structured", question().output_schema(schema)).await?;
    let read: Value = serde_json::from_str(&answer.text())?;
    Ok(json!({"city": read["city"]}))
}

async fn usage() -> Seen {
    let usage = asked("cached", question()).await?.usage;
    let cached = usage.cached_input_tokens;
    Ok(json!({"input": usage.input_tokens, "output": usage.output_tokens, "cached": cached}))
}

async fn models() -> Seen {
    let list = client(&environment("TOLLGATE_KEY")).list().await?;
    let ids: Vec<String> = list.data.into_iter().map(|one| one.id).collect();
    Ok(json!({"models": ids}))
}

async fn refused(key: &str, name: &str, request: CompletionRequest) -> Seen {
    client(key).model(name).call(request).await?;
    Ok(json!({}))
}

fn tell(case: &str, seen: Seen) {
    tell_line(case, seen, |error| match error.downcast_ref::<ProviderError>() {
        Some(ProviderError::ProviderResponse(told) | ProviderError::InvalidAuthentication(told)) => {
            let body: Value = serde_json::from_str(&told.body).unwrap_or_default();
            json!({"status": told.status.map(|status| status.as_u16()), "code": body["error"]["code"]})
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
    tell("wrong key", refused("sk-tg-v1-wrong", "chat", question()).await);
    tell("no credits", refused(&environment("TOLLGATE_EMPTY_KEY"), "chat", question()).await);
    tell("bad request", refused(&key, "chat", question().temperature(9.0)).await);
    tell("unknown model", refused(&key, "none", question()).await);
    tell("rate limit", refused(&key, "limited", question()).await);
    tell("provider fails", refused(&key, "failing", question()).await);
    tell("breaks off", streamed("breaking", usize::MAX).await);
    tell("cancel", streamed("patient", 3).await.map(|seen| json!({"chunks": seen["chunks"]})));
    let slow = tokio::time::timeout(Duration::from_millis(500), refused(&key, "slow", question())).await;
    tell("time-out", slow.unwrap_or_else(|late| Err(late.into())));
}
