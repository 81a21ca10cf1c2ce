import { Gauge, type Registry } from 'prom-client';
import type { HiddenOverhead } from '../invocation/hidden-overhead.ts';

/** What providers were seen to add to inputs, as the bounds of calls have it, read at scrape time. */
export function registerMarginGauges(registry: Registry, overhead: Pick<HiddenOverhead, 'learnt'>): void {
  new Gauge({
    name: 'tollgate_input_margin_ratio',
    help: 'Provider tokens that a hold assumes for one token of our count, by model; learnt from its reports',
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
    help: 'Tokens that a hold assumes the provider adds to every call, by model; learnt from its reports',
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
