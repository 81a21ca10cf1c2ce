import type { Command } from 'commander';
import { AdminClient, type Query } from './admin-client.ts';
import { CliError, EXIT } from './cli-error.ts';
import { cliSettings } from './cli-settings.ts';
import { Progress, type ProgressTerminal } from './progress.ts';
import { type Column, textRecord, textTable } from './text-table.ts';

/** The environment that `tollgate` runs in. */
export interface CliSurroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdout: {
    write(text: string): unknown;
    once?(event: 'drain', listener: () => void): unknown;
  };
  readonly stderr: ProgressTerminal;
  /** Asks the person at the terminal; undefined when there is no terminal. */
  readonly ask?: ((question: string) => Promise<boolean>) | undefined;
  /** Sets the exit code of the process. */
  readonly setExitCode: (code: number) => void;
}

interface GlobalOptions {
  readonly url?: string;
  readonly json?: boolean;
}

const ROWS_DEFAULT = 50;

/** What a command works with: the API client, and ways to print results. */
export class CliContext {
  readonly client: AdminClient;
  readonly progress: Progress;
  readonly setExitCode: (code: number) => void;
  readonly #stdout: CliSurroundings['stdout'];
  readonly #json: boolean;

  private constructor(client: AdminClient, surroundings: CliSurroundings, json: boolean) {
    this.client = client;
    this.progress = new Progress(surroundings.stderr);
    this.setExitCode = surroundings.setExitCode;
    this.#stdout = surroundings.stdout;
    this.#json = json;
  }

  /** Creates the context of one run of a command. Throws CliError. */
  static async of(command: Command, surroundings: CliSurroundings): Promise<CliContext> {
    const { url, json = false } = command.optsWithGlobals<GlobalOptions>();
    const settings = await cliSettings(surroundings.environment, url);
    return new CliContext(new AdminClient(settings), surroundings, json);
  }

  /** Reads a list and prints it; `limit` is the raw value of the option. */
  async showList<Row>(
    path: string,
    query: Query,
    limit: string | undefined,
    columns: readonly Column<Row>[],
  ): Promise<void> {
    let read = 0;
    const rows = await this.progress.wheel(
      () => `${read} rows,`,
      () =>
        this.client.list<Row>(path, query, rowLimit(limit), (count) => {
          read = count;
        }),
    );
    this.showRows(rows, columns);
  }

  showRows<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): void {
    this.#print(rows, () => (rows.length === 0 ? 'Nothing found.' : textTable(columns, rows)));
  }

  showRecord(data: object, entries: readonly (readonly [string, unknown])[]): void {
    this.#print(data, () => textRecord(entries));
  }

  /** Writes text as it arrives, waiting for slow readers. */
  async showText(chunks: AsyncIterable<string>): Promise<void> {
    const stdout = this.#stdout;
    for await (const chunk of chunks) {
      if (stdout.write(chunk) === false) {
        await new Promise<void>((resolve) => (stdout.once ? stdout.once('drain', resolve) : resolve()));
      }
    }
  }

  get wantsJson(): boolean {
    return this.#json;
  }

  /** Prints a sentence for people, or the data as JSON for scripts. */
  showResult(data: object, sentence: string): void {
    this.#print(data, () => sentence);
  }

  #print(data: unknown, text: () => string): void {
    this.#stdout.write(`${this.#json ? JSON.stringify(data, null, 2) : text()}\n`);
  }
}

function rowLimit(option: string | undefined): number {
  if (option === undefined) {
    return ROWS_DEFAULT;
  }
  if (option === 'all') {
    return Number.POSITIVE_INFINITY;
  }
  if (!/^[1-9]\d{0,6}$/.test(option)) {
    throw new CliError(`--limit must be a number of rows or "all", not "${option}"`, EXIT.usage);
  }
  return Number(option);
}
