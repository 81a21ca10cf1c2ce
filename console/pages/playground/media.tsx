import { useState } from 'preact/hooks';
import { useAction } from '../../api/action.ts';
import { refresh } from '../../api/queries.ts';
import { useSendOnce } from '../../api/send-once.ts';
import type { Model } from '../../api/types.gen.ts';
import { promptOf, rememberPrompt } from '../../lib/device-store.ts';
import { to, useQueryState } from '../../lib/location.ts';
import { picoUsd } from '../../lib/price.ts';
import { t } from '../../lib/text.ts';
import { Amount } from '../../ui/amount.tsx';
import { CodeTabs } from '../../ui/code.tsx';
import { Notice } from '../../ui/feedback.tsx';
import { Choice, Field } from '../../ui/field.tsx';
import { Panel } from '../../ui/panel.tsx';
import { mediaSnippets } from '../../ui/snippets.ts';
import { Refused } from './refused.tsx';

const SIZES: Readonly<Record<string, readonly string[]>> = {
  image: ['1024*1024', '1536*1024', '1024*1536', '768*768', '512*512'],
  video: ['1280*720', '720*1280'],
};
const STEPS = '12';

export interface MediaPlaygroundProps {
  readonly kind: 'image' | 'video';
  readonly models: readonly Model[];
}

/** Orders an image or video. Its price is fixed in advance; failures are free. */
export function MediaPlayground({ kind, models }: MediaPlaygroundProps) {
  const [seed] = useQueryState('seed', '');
  const [again] = useQueryState('again', '');
  const [sizeAgain] = useQueryState('size', '');
  const [steps] = useQueryState('steps', STEPS);
  const [id, choose] = useQueryState('model', models[0]?.id ?? '');
  const model = models.find((candidate) => candidate.id === id) ?? models[0];
  const [prompt, setPrompt] = useState(promptOf(again) ?? '');
  const [size, setSize] = useState(sizeAgain || (SIZES[kind]?.[0] ?? ''));
  const [chosenSeed, setSeed] = useState(seed);
  const [ordered, setOrdered] = useState<string>();
  const body = orderOf(kind, model?.id ?? '', { prompt, size, steps, seed: chosenSeed });
  const sendOnce = useSendOnce();
  const ordering = useAction(async () => {
    const answer = await sendOnce<unknown>(`/v3/async/${model?.id}`, body);
    const task = String(answer.body.task_id);
    rememberPrompt(task, prompt);
    setOrdered(task);
    refresh('/api/v1/tasks', '/api/v1/account');
  });
  const submit = (event: Event) => {
    event.preventDefault();
    if (prompt.trim() !== '' && !ordering.isPending) {
      void ordering.run();
    }
  };
  const price = picoUsd(model?.pricing.request ?? '0') / 1_000n;
  return (
    <div class="play-media">
      <Panel title={kind === 'image' ? t('Image') : t('Video')}>
        <form class="form" onSubmit={submit}>
          <Choice
            label={t('Model')}
            value={model?.id ?? ''}
            options={models.map((each) => [each.id, each.id])}
            onChange={choose}
          />
          <Field
            label={t('Prompt')}
            hint={t('Kept on this device; the service forgets it when the task ends.')}
          >
            <textarea
              rows={4}
              required
              maxLength={2_000}
              value={prompt}
              onInput={(event) => setPrompt(event.currentTarget.value)}
            />
          </Field>
          <div class="form-row">
            <Choice
              label={t('Size')}
              value={size}
              options={sizesOf(kind, sizeAgain).map((each) => [each, each.replace('*', ' × ')])}
              onChange={setSize}
            />
            <Field label={t('Seed (empty: any)')}>
              <input
                inputMode="numeric"
                pattern="[0-9]*"
                value={chosenSeed}
                onInput={(event) => setSeed(event.currentTarget.value)}
              />
            </Field>
          </div>
          {ordering.error === undefined ? null : <Refused error={ordering.error} needed={price} />}
          <div class="form-row">
            <button
              type="submit"
              class="button button-main"
              disabled={ordering.isPending || prompt.trim() === ''}
            >
              {ordering.isPending ? t('Ordering …') : t('Run')}
            </button>
            <span class="quiet">
              {t('costs')} <Amount value={price} /> · {t('you are not charged for failures')}
            </span>
          </div>
          {ordered === undefined ? null : (
            <Notice tone="good">
              <a href={to('tasks', { task: ordered })}>{t('Ordered. Watch the progress')}</a>
            </Notice>
          )}
        </form>
      </Panel>
      <Panel title={t('Code')}>
        <CodeTabs snippets={mediaSnippets(model?.id ?? '', body)} />
      </Panel>
    </div>
  );
}

interface Order {
  readonly prompt: string;
  readonly size: string;
  readonly steps: string;
  readonly seed: string;
}

/** Returns the offered sizes, plus the size of the task that is run again. */
function sizesOf(kind: string, again: string): string[] {
  return [...new Set([...(SIZES[kind] ?? []), ...(again === '' ? [] : [again])])];
}

function orderOf(kind: 'image' | 'video', model: string, { prompt, size, steps, seed }: Order): object {
  const number = seed.trim() === '' ? -1 : Number.parseInt(seed, 10);
  if (kind === 'image') {
    return { prompt, size, seed: number };
  }
  const [width = 1280, height = 720] = size.split('*').map((side) => Number.parseInt(side, 10));
  return { model_name: model, prompt, width, height, steps: Number.parseInt(steps, 10), seed: number };
}
