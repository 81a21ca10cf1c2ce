// The Anthropic SDK against Tollgate. The SDK calls /v1/messages, which tollgate.yaml maps to the message endpoint.
//   TOLLGATE_URL=http://127.0.0.1:8080 TOLLGATE_KEY=$(cat .data/owner.key) node docs/examples/anthropic.mjs
import Anthropic from '@anthropic-ai/sdk';

const { TOLLGATE_URL = 'http://127.0.0.1:8080', TOLLGATE_KEY } = process.env;

async function main() {
  if (!TOLLGATE_KEY) {
    throw new Error('set TOLLGATE_KEY to an API key, as the second line of this file does');
  }
  const client = new Anthropic({ baseURL: TOLLGATE_URL, apiKey: TOLLGATE_KEY });
  const message = await client.messages.create({
    model: 'tollgate/small',
    max_tokens: 200,
    messages: [{ role: 'user', content: 'Say hello to a newcomer.' }],
  });
  for (const block of message.content) {
    process.stdout.write(block.type === 'text' ? `${block.text}\n` : '');
  }
  process.stdout.write(`${message.usage.input_tokens} + ${message.usage.output_tokens} tokens\n`);
}

await main().catch((error) => {
  // a refusal's message says what to do; without a status there was no answer
  const where = error instanceof Anthropic.APIConnectionError ? `${TOLLGATE_URL}: ` : '';
  const said = error.error?.error?.message;
  process.stderr.write(`${where}${said ? `${error.status} ${said}` : error.message}\n`);
  process.exitCode = 1;
});
