import com.anthropic.client.AnthropicClient;
import com.anthropic.client.okhttp.AnthropicOkHttpClient;
import com.anthropic.core.JsonValue;
import com.anthropic.core.RequestOptions;
import com.anthropic.errors.AnthropicServiceException;
import com.anthropic.helpers.MessageAccumulator;
import com.anthropic.models.messages.ContentBlockParam;
import com.anthropic.models.messages.Message;
import com.anthropic.models.messages.MessageCreateParams;
import com.anthropic.models.messages.Tool;
import com.anthropic.models.messages.ToolResultBlockParam;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;

/** anthropic-java. */
class AnthropicCases {
  private static AnthropicClient client(String key) {
    return AnthropicOkHttpClient.builder().baseUrl(Cases.URL).apiKey(key).maxRetries(0).build();
  }

  private static MessageCreateParams.Builder question(String name) {
    return MessageCreateParams.builder().model(Cases.model(name)).maxTokens(200).addUserMessage(Cases.ASK);
  }

  static Map<String, Object> told(Exception error) {
    return error instanceof AnthropicServiceException refused
        ? Map.of("status", refused.statusCode())
        : Map.of();
  }

  private static String text(Message message) {
    return message.content().get(0).asText().text();
  }

  private static Map<String, Object> whole(Message message) {
    return Map.of("text", text(message), "finish", message.stopReason().orElseThrow().asString());
  }

  static Map<String, Callable<Map<String, Object>>> cases() {
    AnthropicClient client = client(Cases.KEY);
    Map<String, Callable<Map<String, Object>>> cases = new LinkedHashMap<>();
    cases.put("simple", () -> whole(client.messages().create(question("chat").build())));
    cases.put("stream", () -> {
      var message = MessageAccumulator.create();
      try (var stream = client.messages().createStreaming(question("chat").build())) {
        stream.stream().forEach(message::accumulate);
      }
      return whole(message.message());
    });
    cases.put("tools", () -> tools(client));
    cases.put("usage", () -> {
      var usage = client.messages().create(question("cached").build()).usage();
      long cached = usage.cacheReadInputTokens().orElse(0L);
      return Map.of("input", usage.inputTokens() + cached, "output", usage.outputTokens(), "cached", cached);
    });
    cases.put("models", () -> {
      var ids = client.models().list().autoPager().stream().map(one -> one.id()).toList();
      return Map.of("models", ids, "model", client.models().retrieve(Cases.model("chat")).id());
    });
    cases.put("wrong key", () -> asked(client("sk-tg-v1-wrong"), question("chat")));
    cases.put("no credits", () -> asked(client(Cases.EMPTY_KEY), question("chat")));
    cases.put("bad request", () -> asked(client, question("chat").putAdditionalBodyProperty("temperature", JsonValue.from(9))));
    cases.put("unknown model", () -> asked(client, question("none")));
    cases.put("rate limit", () -> asked(client, question("limited")));
    cases.put("provider fails", () -> asked(client, question("failing")));
    cases.put("breaks off", () -> {
      try (var stream = client.messages().createStreaming(question("breaking").build())) {
        return Map.of("chunks", stream.stream().count());
      }
    });
    cases.put("cancel", () -> {
      try (var stream = client.messages().createStreaming(question("patient").build())) {
        return Map.of("chunks", stream.stream().limit(3).count());
      }
    });
    cases.put("time-out", () -> {
      var options = RequestOptions.builder().timeout(Duration.ofMillis(500)).build();
      client.messages().create(question("slow").build(), options);
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
  private static Map<String, Object> askedAgain(MessageCreateParams.Builder question) {
    var impatient = AnthropicOkHttpClient.builder()
        .baseUrl(Cases.URL)
        .apiKey(Cases.KEY)
        .timeout(Duration.ofSeconds(1))
        .build();
    return whole(impatient.messages().create(question.build()));
  }

  private static Map<String, Object> asked(AnthropicClient client, MessageCreateParams.Builder question) {
    client.messages().create(question.build());
    return Map.of();
  }

  private static Map<String, Object> tools(AnthropicClient client) throws Exception {
    var schema = Tool.InputSchema.builder()
        .properties(JsonValue.from(Cases.CITY))
        .putAdditionalProperty("required", JsonValue.from(Cases.REQUIRED))
        .build();
    var question = question("chat").addTool(Tool.builder().name("weather").inputSchema(schema).build());
    var called = client.messages().create(question.build());
    var call = called.content().get(0).asToolUse();
    var result = ToolResultBlockParam.builder().toolUseId(call.id()).content("sunny").build();
    question.addMessage(called).addUserMessageOfContentBlockParams(List.of(ContentBlockParam.ofToolResult(result)));
    String city = Cases.cityOf(Cases.JSON.writeValueAsString(call._input().convert(Map.class)));
    return Map.of("city", city, "text", text(client.messages().create(question.build())));
  }
}
