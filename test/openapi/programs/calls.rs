use openapi::apis::{async_api, billing_api, invocation_api, keys_api, models_api, tasks_api, usage_api};
use openapi::apis::{configuration::Configuration, Error};
use openapi::models::{ChatRequest, ChatRequestMessage, ChatRequestMessageContent, ChatTool, ChatToolFunction};
use openapi::models::{CreateKey, MessageRequestMessage, MessageRequestMessageContent, MessagesRequest};
use openapi::models::SubmitImageRequest;
use std::time::{Duration, Instant};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let configuration = Configuration {
        bearer_access_token: Some(std::env::var("TOLLGATE_KEY")?),
        ..Configuration::default()
    };
    let models = models_api::list_models(&configuration, None, None, None, None).await?;
    let model = models_api::get_model(&configuration, "tollgate/small", None).await?;

    let mut message = ChatRequestMessage::new();
    message.content = Some(Some(Box::new(ChatRequestMessageContent::String("Say hello.".into()))));
    let request = ChatRequest::new("tollgate/small".into(), vec![message]);
    let chat = invocation_api::create_chat_completion(&configuration, request, None, None, None).await?;

    let mut message = ChatRequestMessage::new();
    let words = ChatRequestMessageContent::String("Use the weather tool.".into());
    message.content = Some(Some(Box::new(words)));
    let mut request = ChatRequest::new("tollgate/small".into(), vec![message]);
    let tool = ChatTool { function: Some(ChatToolFunction::new("weather".into())), ..ChatTool::new() };
    request.tools = Some(Some(vec![tool]));
    let called = invocation_api::create_chat_completion(&configuration, request, None, None, None).await?;
    let turn = MessageRequestMessage::new(MessageRequestMessageContent::String("Say hello.".into()));
    let mut request = MessagesRequest::new("tollgate/small".into(), vec![turn]);
    request.max_tokens = Some(Some(200));
    let answer = invocation_api::create_message(&configuration, request, None, None, None, None).await?;
    let made = keys_api::create_key(&configuration, CreateKey::new("generated".into()), None, None).await?;

    let order = SubmitImageRequest::new("a lighthouse".into());
    let handle = async_api::submit_image(&configuration, order, None, None).await?;
    let end = Instant::now() + Duration::from_secs(60);
    let mut status = String::new();
    while status != "TASK_STATUS_SUCCEED" && Instant::now() < end {
        let result = async_api::get_task_result(&configuration, &handle.task_id, None, Some("wait=20")).await?;
        status = result.task.status;
    }
    let credits = usage_api::get_credits(&configuration, None).await?;

    let keys = keys_api::list_keys(&configuration, None, None, None).await?;
    let usage = usage_api::get_usage(&configuration, None, None, None, None, None, None, None, None).await?;
    let costs = usage_api::get_costs(&configuration, None, None, None, None, None, None, None, None).await?;
    let tasks = tasks_api::list_tasks(&configuration, None, None, None, None, None, None, None, None, None).await?;
    let transactions =
        billing_api::list_balance_transactions(&configuration, None, None, None, None, None, None, None).await?;
    let invoices = billing_api::list_invoices(&configuration, None, None, None, None, None, None).await?;

    let refusal = match models_api::get_model(&configuration, "tollgate/none", None).await {
        Err(Error::ResponseError(refused)) => serde_json::from_str::<serde_json::Value>(&refused.content)?,
        _ => serde_json::Value::Null,
    };
    println!(
        "{}",
        serde_json::json!({
            "models": models.data.len(), "model": model.data.id,
            "text": chat.choices[0].message.content, "tokens": chat.usage.total_tokens,
            "tool": called.choices[0].message.tool_calls.as_ref().map(|calls| calls[0].function.name.clone()),
            "message": answer.content[0].text, "key": made.data.name,
            "rows": [keys.data.len(), usage.data.len(), costs.data.len(), tasks.data.len(), transactions.data.len()],
            "invoices": invoices.data.len(),
            "image": status, "used": credits.data.total_usage, "refusal": refusal["error"]["code"],
        })
    );
    Ok(())
}
