import { Gauge, type Registry } from 'prom-client';
import type { HiddenOverhead } from '../invocation/hidden-overhead.ts';

/** Registers the gauges of the tokens that providers add to inputs, as assumed by holds, read at scrape time. */
export function registerMarginGauges(registry: Registry, overhead: Pick<HiddenOverhead, 'learnt'>): void {
  new Gauge({
    name: 'tollgate_input_margin_ratio',
    help: "Provider tokens that a hold assumes per token counted by Tollgate, by model; learned from the provider's reports",
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
    help: "Tokens that a hold assumes the provider adds to every call, by model; learned from the provider's reports",
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
