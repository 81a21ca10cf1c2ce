import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.JsonValue;
import com.openai.core.RequestOptions;
import com.openai.errors.OpenAIServiceException;
import com.openai.helpers.ChatCompletionAccumulator;
import com.openai.models.FunctionDefinition;
import com.openai.models.FunctionParameters;
import com.openai.models.ResponseFormatJsonSchema;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionStreamOptions;
import com.openai.models.chat.completions.ChatCompletionToolMessageParam;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;

/** openai-java. */
class OpenAiCases {
  private static OpenAIClient client(String key) {
    return OpenAIOkHttpClient.builder().baseUrl(Cases.URL + "/api/v1").apiKey(key).maxRetries(0).build();
  }

  private static ChatCompletionCreateParams.Builder question(String name) {
    return ChatCompletionCreateParams.builder().model(Cases.model(name)).addUserMessage(Cases.ASK);
  }

  static Map<String, Object> told(Exception error) {
    Map<String, Object> facts = new LinkedHashMap<>();
    if (error instanceof OpenAIServiceException refused) {
      facts.put("status", refused.statusCode());
      facts.put("code", refused.code().orElse(null));
    }
    return facts;
  }

  static Map<String, Callable<Map<String, Object>>> cases() {
    OpenAIClient client = client(Cases.KEY);
    Map<String, Callable<Map<String, Object>>> cases = new LinkedHashMap<>();
    cases.put("simple", () -> {
      var choice = client.chat().completions().create(question("chat").build()).choices().get(0);
      String text = choice.message().content().orElse("");
      return Map.of("text", text, "finish", choice.finishReason().asString());
    });
    cases.put("stream", () -> {
      var whole = ChatCompletionAccumulator.create();
      // the accumulator needs the usage in a separate chunk
      var options = ChatCompletionStreamOptions.builder().includeUsage(true).build();
      var question = question("chat").streamOptions(options).build();
      try (var stream = client.chat().completions().createStreaming(question)) {
        stream.stream().forEach(whole::accumulate);
      }
      var choice = whole.chatCompletion().choices().get(0);
      String text = choice.message().content().orElse("");
      return Map.of("text", text, "finish", choice.finishReason().asString());
    });
    cases.put("tools", () -> tools(client));
    cases.put("structured", () -> {
      var schema = ResponseFormatJsonSchema.JsonSchema.builder()
          .name("weather")
          .strict(true)
          .schema(ResponseFormatJsonSchema.JsonSchema.Schema.builder()
              .putAdditionalProperty("type", JsonValue.from("object"))
              .putAdditionalProperty("properties", JsonValue.from(Cases.CITY))
              .putAdditionalProperty("required", JsonValue.from(Cases.REQUIRED))
              .putAdditionalProperty("additionalProperties", JsonValue.from(false))
              .build())
          .build();
      var format = ResponseFormatJsonSchema.builder().jsonSchema(schema).build();
      var answer = client.chat().completions().create(question("structured").responseFormat(format).build());
      return Map.of("city", Cases.cityOf(answer.choices().get(0).message().content().orElse("")));
    });
    cases.put("usage", () -> {
      var usage = client.chat().completions().create(question("cached").build()).usage().orElseThrow();
      long cached = usage.promptTokensDetails().orElseThrow().cachedTokens().orElse(-1L);
      return Map.of("input", usage.promptTokens(), "output", usage.completionTokens(), "cached", cached);
    });
    cases.put("models", () -> {
      var ids = client.models().list().data().stream().map(one -> one.id()).toList();
      return Map.of("models", ids, "model", client.models().retrieve(Cases.model("chat")).id());
    });
    cases.put("wrong key", () -> asked(client("sk-tg-v1-wrong"), question("chat")));
    cases.put("no credits", () -> asked(client(Cases.EMPTY_KEY), question("chat")));
    cases.put("bad request", () -> asked(client, question("chat").temperature(9)));
    cases.put("unknown model", () -> asked(client, question("none")));
    cases.put("rate limit", () -> asked(client, question("limited")));
    cases.put("provider fails", () -> asked(client, question("failing")));
    cases.put("breaks off", () -> {
      try (var stream = client.chat().completions().createStreaming(question("breaking").build())) {
        return Map.of("chunks", stream.stream().count());
      }
    });
    cases.put("cancel", () -> {
      try (var stream = client.chat().completions().createStreaming(question("patient").build())) {
        return Map.of("chunks", stream.stream().limit(3).count());
      }
    });
    cases.put("time-out", () -> {
      var options = RequestOptions.builder().timeout(Duration.ofMillis(500)).build();
      client.chat().completions().create(question("slow").build(), options);
      return Map.of();
    });
    cases.put("asked again", () -> askedAgain(question("late")));
    cases.put("asked again with a key", () -> {
      String key = UUID.randomUUID().toString();
      return askedAgain(question("late").putAdditionalHeader("Idempotency-Key", key));
    });
    return cases;
  }

  /** The SDK's own behavior after a timeout, with its default number of tries. */
  private static Map<String, Object> askedAgain(ChatCompletionCreateParams.Builder question) {
    var impatient = OpenAIOkHttpClient.builder()
        .baseUrl(Cases.URL + "/api/v1")
        .apiKey(Cases.KEY)
        .timeout(Duration.ofSeconds(1))
        .build();
    var answer = impatient.chat().completions().create(question.build());
    return Map.of("text", answer.choices().get(0).message().content().orElse(""));
  }

  private static Map<String, Object> asked(OpenAIClient client, ChatCompletionCreateParams.Builder question) {
    client.chat().completions().create(question.build());
    return Map.of();
  }

  private static Map<String, Object> tools(OpenAIClient client) throws Exception {
    var parameters = FunctionParameters.builder()
        .putAdditionalProperty("type", JsonValue.from("object"))
        .putAdditionalProperty("properties", JsonValue.from(Cases.CITY))
        .putAdditionalProperty("required", JsonValue.from(Cases.REQUIRED))
        .build();
    var question = question("chat")
        .addFunctionTool(FunctionDefinition.builder().name("weather").parameters(parameters).build());
    var message = client.chat().completions().create(question.build()).choices().get(0).message();
    var call = message.toolCalls().orElseThrow().get(0).asFunction();
    var result = ChatCompletionToolMessageParam.builder().toolCallId(call.id()).content("sunny").build();
    question.addMessage(message).addMessage(result);
    var answer = client.chat().completions().create(question.build()).choices().get(0).message();
    String city = Cases.cityOf(call.function().arguments());
    return Map.of("city", city, "text", answer.content().orElse(""));
  }
}
