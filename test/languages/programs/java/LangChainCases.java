import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.exception.HttpException;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** LangChain4j over OpenAI's dialect. */
class LangChainCases {
  private static OpenAiChatModel.OpenAiChatModelBuilder model(String name) {
    return OpenAiChatModel.builder()
        .baseUrl(Cases.URL + "/api/v1")
        .apiKey(Cases.KEY)
        .modelName(Cases.model(name))
        .maxRetries(0);
  }

  static Map<String, Object> told(Exception error) {
    Map<String, Object> facts = new LinkedHashMap<>();
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      if (cause instanceof HttpException refused) {
        facts.put("status", refused.statusCode());
      }
    }
    return facts;
  }

  static Map<String, Callable<Map<String, Object>>> cases() {
    Map<String, Callable<Map<String, Object>>> cases = new LinkedHashMap<>();
    cases.put("simple", () -> {
      var answer = model("chat").build().chat(UserMessage.from(Cases.ASK));
      return Map.of("text", answer.aiMessage().text());
    });
    cases.put("stream", () -> Map.of("text", streamed("chat").aiMessage().text()));
    cases.put("tools", () -> {
      var schema = JsonObjectSchema.builder().addStringProperty("city").required("city").build();
      var tool = ToolSpecification.builder().name("weather").parameters(schema).build();
      var chat = model("chat").build();
      List<ChatMessage> messages = new ArrayList<>(List.of(UserMessage.from(Cases.ASK)));
      var request = ChatRequest.builder().messages(messages).toolSpecifications(tool).build();
      var call = chat.chat(request).aiMessage();
      messages.add(call);
      messages.add(ToolExecutionResultMessage.from(call.toolExecutionRequests().get(0), "sunny"));
      var answer = chat.chat(ChatRequest.builder().messages(messages).toolSpecifications(tool).build());
      String city = Cases.cityOf(call.toolExecutionRequests().get(0).arguments());
      return Map.of("city", city, "text", answer.aiMessage().text());
    });
    cases.put("usage", () -> {
      var usage = model("cached").build().chat(UserMessage.from(Cases.ASK)).tokenUsage();
      return Map.of("input", usage.inputTokenCount(), "output", usage.outputTokenCount());
    });
    cases.put("wrong key", () -> asked(model("chat").apiKey("sk-tg-v1-wrong")));
    cases.put("no credits", () -> asked(model("chat").apiKey(Cases.EMPTY_KEY)));
    cases.put("bad request", () -> asked(model("chat").temperature(9.0)));
    cases.put("unknown model", () -> asked(model("none")));
    cases.put("rate limit", () -> asked(model("limited")));
    cases.put("provider fails", () -> asked(model("failing")));
    cases.put("breaks off", () -> Map.of("text", streamed("breaking").aiMessage().text()));
    cases.put("time-out", () -> asked(model("slow").timeout(Duration.ofMillis(500))));
    return cases;
  }

  private static Map<String, Object> asked(OpenAiChatModel.OpenAiChatModelBuilder model) {
    model.build().chat(UserMessage.from(Cases.ASK));
    return Map.of();
  }

  private static ChatResponse streamed(String name) throws Exception {
    var chat = OpenAiStreamingChatModel.builder()
        .baseUrl(Cases.URL + "/api/v1")
        .apiKey(Cases.KEY)
        .modelName(Cases.model(name))
        .build();
    var end = new CompletableFuture<ChatResponse>();
    chat.chat(Cases.ASK, new StreamingChatResponseHandler() {
      @Override
      public void onPartialResponse(String text) {}

      @Override
      public void onCompleteResponse(ChatResponse response) {
        end.complete(response);
      }

      @Override
      public void onError(Throwable error) {
        end.completeExceptionally(error);
      }
    });
    return end.get(60, TimeUnit.SECONDS);
  }
}
