import { type Answer, type CallOptions, request } from './operator-server.ts';

/** Keeps cookies between requests as a browser would, and exposes them. */
export class Browser {
  readonly #url: string;
  readonly cookies = new Map<string, string>();
  /** Attributes of the most recently set cookie, by name. */
  readonly attributes = new Map<string, string>();

  constructor(url: string) {
    this.#url = url;
  }

  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await request(this.#url + path, method, {
      token: null,
      ...options,
      headers: { ...(cookie === '' ? {} : { cookie }), ...options.headers },
    });
    for (const line of answer.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split('; ');
      const [name = '', ...value] = pair.split('=');
      this.attributes.set(name, attributes.join('; '));
      if (attributes.includes('Max-Age=0')) {
        this.cookies.delete(name);
      } else {
        this.cookies.set(name, value.join('='));
      }
    }
    return answer;
  }

  /** Submits a form, by default the one shown by the page at `path`. */
  async submit(path: string, fields: Readonly<Record<string, string>>, proof?: string): Promise<Answer> {
    const page = await this.call('GET', path);
    const shown = /name="proof" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
    const next = /name="next" value="([^"]+)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&');
    const [action = ''] = path.split('?', 1);
    return await this.call('POST', action, {
      body: new URLSearchParams({ proof: proof ?? shown, ...(next && { next }), ...fields }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
  }

  signIn(token: string, path = '/admin/login'): Promise<Answer> {
    return this.submit(path, { token });
  }
}
