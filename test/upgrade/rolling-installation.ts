import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { runCommand } from '../../ops/embedded/run-command.ts';
import { withOwner } from '../chaos/audit.ts';
import { ProductProcess } from '../chaos/product-process.ts';
import type { ChaosServices } from '../chaos/services.ts';
import { ADMIN_TOKEN, CHAT_MODEL, IMAGE_MODEL } from '../chaos/stack.ts';
import type { Build } from './previous-build.ts';

/** The number of addresses in ops/nginx. */
const APIS = 3;
const WORKERS = 2;
const MIGRATION_TIMEOUT_MS = 120_000;

/** API and worker processes on one database. Each can be replaced by a process of another build. */
export class RollingInstallation {
  readonly #services: ChaosServices;
  readonly #publicUrl: string;
  readonly #name = `upgrade_${randomBytes(5).toString('hex')}`;
  readonly #ports: number[] = [];
  readonly #apis: ProductProcess[] = [];
  readonly #workers: ProductProcess[] = [];
  #urls = { application: '', owner: '' };

  private constructor(services: ChaosServices, publicUrl: string) {
    this.#services = services;
    this.#publicUrl = publicUrl;
  }

  /**
   * Starts an installation on an empty database that one build migrates and serves. `publicUrl`: the URL for clients. The caller must stop
   * it.
   */
  static async start(services: ChaosServices, build: Build, publicUrl: string): Promise<RollingInstallation> {
    const installation = new RollingInstallation(services, publicUrl);
    await installation.#begin(build);
    return installation;
  }

  get ownerUrl(): string {
    return this.#urls.owner;
  }

  /** Paths of the sockets that the API processes listen on. */
  get sockets(): readonly string[] {
    return this.#ports.map((port) => join(this.#services.folder, `upgrade-${port}.sock`));
  }

  /** Runs the build's migration like a deployment and returns its output. Throws an Error when it fails. */
  async migrate(build: Build): Promise<string> {
    const { code, stdout, stderr } = await runCommand(process.execPath, ['dist/migrations/run.js'], {
      cwd: build.folder,
      env: {
        PATH: process.env.PATH,
        DATABASE_OWNER_URL: this.#urls.owner,
        DATABASE_URL: this.#urls.application,
      },
      timeoutMs: MIGRATION_TIMEOUT_MS,
    });
    if (code !== 0) {
      throw new Error(`the migration of ${build.name} failed: ${stderr.trim()}`);
    }
    return stdout.trim();
  }

  /** Replaces workers, then API processes, one at a time: SIGTERM, end, new process. Returns exit codes other than 0. */
  async roll(build: Build): Promise<(number | null)[]> {
    const codes: (number | null)[] = [];
    for (const place of this.#workers.keys()) {
      codes.push((await this.#workers[place]?.stop()) ?? null);
      this.#workers[place] = await this.#startWorker(build, place);
    }
    for (const place of this.#apis.keys()) {
      codes.push((await this.#apis[place]?.stop()) ?? null);
      this.#apis[place] = await this.#startApi(build, place);
    }
    return codes.filter((code) => code !== 0);
  }

  /** Makes an operator call to one of the processes and returns the parsed body. Throws an Error unless it succeeds. */
  async admin<T>(path: string, body?: unknown): Promise<T> {
    const response = await fetch(`http://127.0.0.1:${this.#ports[0]}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) {
      throw new Error(`${path}: ${response.status} ${await response.text()}`);
    }
    return (await response.json()) as T;
  }

  /** Opens an account and returns its owner key. */
  async openAccount(credits: string): Promise<string> {
    const body = { name: 'upgraded', credits };
    return (await this.admin<{ key: string }>('/admin/v1/accounts', body)).key;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#apis, ...this.#workers].map((running) => running.stop()));
  }

  async #begin(build: Build): Promise<void> {
    // on the server of the services, where this build must be the first to migrate the database
    const other = await this.#services.createDatabase();
    await withOwner(other.ownerUrl, (client) => client.query(`CREATE DATABASE ${this.#name}`));
    const inOwn = (url: string) => Object.assign(new URL(url), { pathname: `/${this.#name}` }).href;
    this.#urls = { application: inOwn(other.url), owner: inOwn(other.ownerUrl) };
    mkdirSync(join(this.#services.folder, 'processes'), { recursive: true });
    writeFileSync(this.#catalogFile, catalogOf(this.#services));
    await this.migrate(build);
    for (let place = 0; place < APIS; place += 1) {
      this.#ports.push(await choosePort());
    }
    for (let place = 0; place < WORKERS; place += 1) {
      this.#workers.push(await this.#startWorker(build, place));
    }
    for (let place = 0; place < APIS; place += 1) {
      this.#apis.push(await this.#startApi(build, place));
    }
  }

  get #catalogFile(): string {
    return join(this.#services.folder, `${this.#name}.yaml`);
  }

  #startApi(build: Build, place: number): Promise<ProductProcess> {
    const environment = { PORT: String(this.#ports[place]), LISTEN_SOCKET: this.sockets[place] };
    return this.#startProcess(build, 'src/server.js', `api-${place}`, environment);
  }

  #startWorker(build: Build, place: number): Promise<ProductProcess> {
    return this.#startProcess(build, 'workers/main.js', `worker-${place}`, {});
  }

  #startProcess(
    build: Build,
    script: string,
    name: string,
    environment: NodeJS.ProcessEnv,
  ): Promise<ProductProcess> {
    const { folder, programs, redisUrl } = this.#services;
    const settings = {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      FFMPEG_PATH: programs.ffmpeg,
      FFPROBE_PATH: programs.ffprobe,
      DATABASE_URL: this.#urls.application,
      REDIS_URL: redisUrl,
      DATA_DIR: join(folder, this.#name),
      TOLLGATE_CONFIG: this.#catalogFile,
      TOLLGATE_SECRET: 'a secret of the upgrade test, 32 characters',
      ADMIN_TOKEN,
      PUBLIC_URL: this.#publicUrl,
      LOG_LEVEL: 'warn',
      API_PROCESSES: '1',
      DRAIN_SECONDS: '20',
    };
    const log = join(folder, 'processes', `${this.#name}-${name}.log`);
    return ProductProcess.start(build.folder, script, [], { ...settings, ...environment }, log);
  }
}

/** Returns a catalog without anything newer than the oldest build to start from. Prices are those that the auditors of chaos expect. */
function catalogOf({ upstream, engine }: ChaosServices): string {
  return JSON.stringify({
    providers: [{ id: 'main', protocol: 'openai', base_url: upstream.url, api_key: 'none' }],
    models: [
      {
        id: CHAT_MODEL,
        endpoints: ['chat'],
        context_length: 32_000,
        max_output_tokens: 512,
        pricing: { prompt: '0.000001', completion: '0.000002' },
        routes: [{ provider: 'main', model: 'simulated' }],
      },
      {
        id: IMAGE_MODEL,
        endpoints: ['image'],
        pricing: { request: '0.005' },
        routes: [{ engine: 'pool', model: 'simulated' }],
      },
    ],
    engines: [{ id: 'pool', kind: 'sdcpp', base_url: engine.url, slots: 8, poll_interval_ms: 50 }],
    limits: { requests_per_minute: 10_000_000, tokens_per_minute: 10_000_000_000, concurrency: 100_000 },
  });
}
