import type { Order, ProcessReport } from './messages.ts';

/** A process that can be sent messages. */
export interface Askable {
  tell(order: Order): void;
}

interface Question {
  readonly texts: string[];
  missing: number;
  answer(): void;
}

/** Timeout per answer, in ms. A process whose event loop is busy for longer is left out: Prometheus sees a gap, not a failed scrape. */
const PATIENCE_MS = 1_000;

/** Collects the metrics of all processes. A scrape arrives at only one of those behind the port, which asks here for the others. */
export class MetricsCollector {
  readonly #own: () => Promise<string>;
  readonly #questions = new Map<number, Question>();
  #last = 0;

  /** `own` returns the metrics of the primary process. */
  constructor(own: () => Promise<string>) {
    this.#own = own;
  }

  /** Handles a report. `others`: all serving processes, including the sender. */
  receive(
    from: Askable,
    report: Exclude<ProcessReport, { type: 'ready' }>,
    others: readonly Askable[],
  ): void {
    if (report.type === 'all-metrics') {
      void this.#askAll(others).then((texts) => from.tell({ ...report, texts }));
      return;
    }
    const question = this.#questions.get(report.question);
    if (question) {
      question.texts.push(report.text);
      question.missing -= 1;
      if (question.missing === 0) {
        question.answer();
      }
    }
  }

  async #askAll(others: readonly Askable[]): Promise<readonly string[]> {
    this.#last += 1;
    const number = this.#last;
    const texts = [await this.#own()];
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, PATIENCE_MS);
      const answer = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#questions.set(number, { texts, missing: others.length, answer });
      for (const other of others) {
        other.tell({ type: 'metrics', question: number });
      }
    });
    this.#questions.delete(number);
    return texts;
  }
}
