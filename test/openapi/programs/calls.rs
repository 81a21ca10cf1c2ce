use openapi::apis::{async_api, configuration::Configuration, invocation_api, models_api, usage_api, Error};
use openapi::models::{ChatRequest, ChatRequestMessage, ChatRequestMessageContent, SubmitImageRequest};
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

    let order = SubmitImageRequest::new("a lighthouse".into());
    let handle = async_api::submit_image(&configuration, order, None, None).await?;
    let end = Instant::now() + Duration::from_secs(60);
    let mut status = String::new();
    while status != "TASK_STATUS_SUCCEED" && Instant::now() < end {
        let result = async_api::get_task_result(&configuration, &handle.task_id, None, Some("wait=20")).await?;
        status = result.task.status;
    }
    let credits = usage_api::get_credits(&configuration, None).await?;

    let refusal = match models_api::get_model(&configuration, "tollgate/none", None).await {
        Err(Error::ResponseError(refused)) => serde_json::from_str::<serde_json::Value>(&refused.content)?,
        _ => serde_json::Value::Null,
    };
    println!(
        "{}",
        serde_json::json!({
            "models": models.data.len(), "model": model.data.id,
            "text": chat.choices[0].message.content, "tokens": chat.usage.total_tokens,
            "image": status, "used": credits.data.total_usage, "refusal": refusal["error"]["code"],
        })
    );
    Ok(())
}
