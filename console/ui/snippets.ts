import { SERVICE } from '../lib/location.ts';

export interface Snippet {
  /** Language or client of the snippet. */
  readonly name: string;
  readonly code: string;
}

/** Returns the base URL at which programs reach this service. */
export function serviceUrl(): string {
  return `${window.location.origin}${SERVICE}`.replace(/\/$/, '');
}

/** Returns a first call of a text model. The key is read from the user's environment. */
export function chatSnippets(model: string): Snippet[] {
  const url = serviceUrl();
  return [
    {
      name: 'curl',
      code: `curl ${url}/api/v1/chat/completions \\
  -H "Authorization: Bearer $TOLLGATE_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${model}", "messages": [{"role": "user", "content": "Hello"}]}'`,
    },
    {
      name: 'Python (openai)',
      code: `import os
from openai import OpenAI

client = OpenAI(base_url="${url}/api/v1", api_key=os.environ["TOLLGATE_KEY"])
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`,
    },
    {
      name: 'JavaScript (openai)',
      code: `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${url}/api/v1', apiKey: process.env.TOLLGATE_KEY });
const answer = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Hello' }],
});
console.log(answer.choices[0].message.content);`,
    },
    {
      name: 'JavaScript (Anthropic)',
      code: `import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({ baseURL: '${url}', authToken: process.env.TOLLGATE_KEY, apiKey: null });
const answer = await client.messages.create({
  model: '${model}',
  max_tokens: 1024,
  messages: [{ role: 'user', content: 'Hello' }],
});
console.log(answer.content);`,
    },
  ];
}

/** Returns how to submit an image or video at its path, and how to get its result. */
export function mediaSnippets(path: string, body: object): Snippet[] {
  const url = serviceUrl();
  const json = JSON.stringify(body).replaceAll("'", "'\\''");
  return [
    {
      name: 'curl',
      code: `curl ${url}${path} \\
  -H "Authorization: Bearer $TOLLGATE_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${json}'

curl "${url}/v3/async/task-result?task_id=$TASK_ID" \\
  -H "Authorization: Bearer $TOLLGATE_KEY"`,
    },
  ];
}
