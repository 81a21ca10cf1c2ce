import { Gauge, type Registry } from 'prom-client';
import type { HiddenOverhead } from '../invocation/hidden-overhead.ts';

/** What providers were seen to add to inputs, as the bounds of calls have it, read at scrape time. */
export function registerMarginGauges(registry: Registry, overhead: Pick<HiddenOverhead, 'learnt'>): void {
  new Gauge({
    name: 'tollgate_input_margin_ratio',
    help: 'Tokens that a model of a provider may make of one that we count; learnt from its reports',
    labelNames: ['provider', 'model'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { provider, model, ratio } of overhead.learnt()) {
        this.set({ provider, model }, ratio);
      }
    },
  });
  new Gauge({
    name: 'tollgate_input_margin_tokens',
    help: 'Tokens that a model of a provider may add to every call; learnt from its reports',
    labelNames: ['provider', 'model'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { provider, model, tokens } of overhead.learnt()) {
        this.set({ provider, model }, tokens);
      }
    },
  });
}
