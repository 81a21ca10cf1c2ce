import { useState } from 'preact/hooks';
import { useAction } from '../../api/action.ts';
import { useKept } from '../../api/kept.ts';
import { refresh } from '../../api/queries.ts';
import { useSendOnce } from '../../api/send-once.ts';
import type { MediaOptions, Model } from '../../api/types.gen.ts';
import { promptOf, rememberPrompt } from '../../lib/device-store.ts';
import { useQueryState } from '../../lib/location.ts';
import { t } from '../../lib/text.ts';
import { Amount } from '../../ui/amount.tsx';
import { CodeTabs } from '../../ui/code.tsx';
import { Choice, Field } from '../../ui/field.tsx';
import { Panel } from '../../ui/panel.tsx';
import { mediaSnippets } from '../../ui/snippets.ts';
import {
  firstChoice,
  type MediaChoice,
  type MediaKind,
  orderBody,
  orderPath,
  priceOf,
  sizesOf,
} from './media-order.ts';
import { Ordered } from './ordered.tsx';
import { Refused } from './refused.tsx';

export interface MediaPlaygroundProps {
  readonly kind: MediaKind;
  readonly models: readonly Model[];
}

/** Orders an image or video. Its price is fixed in advance; failures are free. */
export function MediaPlayground({ kind, models }: MediaPlaygroundProps) {
  const [seed] = useQueryState('seed', '');
  const [again] = useQueryState('again', '');
  const [id, choose] = useQueryState('model', models[0]?.id ?? '');
  const model = models.find((candidate) => candidate.id === id) ?? models[0];
  const [prompt, setPrompt] = useKept(`${kind} ${again}`, promptOf(again) ?? '');
  const [choice, setChoice] = useChoice(model);
  const [chosenSeed, setSeed] = useState(seed);
  const [ordered, setOrdered] = useState<string>();
  const path = orderPath(kind, model?.id ?? '');
  const body = orderBody(kind, model?.id ?? '', { ...choice, prompt, seed: chosenSeed });
  const sendOnce = useSendOnce();
  const ordering = useAction(async () => {
    const answer = await sendOnce<unknown>(path, body);
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
  const price = model && priceOf(model, choice);
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
              onInput={({ currentTarget }) => setPrompt(() => currentTarget.value)}
            />
          </Field>
          <div class="form-row">
            <Options media={model?.media ?? null} choice={choice} onChange={setChoice} />
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
        </form>
        {ordered === undefined ? null : <Ordered key={ordered} id={ordered} />}
      </Panel>
      <Panel title={t('Code')}>
        <CodeTabs snippets={mediaSnippets(path, body)} />
      </Panel>
    </div>
  );
}

/** What was chosen for a model. Another model starts with its own defaults: it may offer nothing of it. */
function useChoice(model: Model | undefined): [MediaChoice, (choice: MediaChoice) => void] {
  const [size] = useQueryState('size', '');
  const [steps] = useQueryState('steps', '');
  const [seconds] = useQueryState('seconds', '');
  const [made, setMade] = useState<{ readonly model: string; readonly choice: MediaChoice }>();
  const id = model?.id ?? '';
  const choice =
    made?.model === id ? made.choice : firstChoice(model?.media ?? null, { size, steps, seconds });
  return [choice, (next) => setMade({ model: id, choice: next })];
}

interface OptionsProps {
  readonly media: MediaOptions | null;
  readonly choice: MediaChoice;
  readonly onChange: (choice: MediaChoice) => void;
}

/** The fields for what the model lets an order set. */
function Options({ media, choice, onChange }: OptionsProps) {
  if (!media) {
    return null;
  }
  const { steps, seconds } = media;
  return (
    <>
      <Choice
        label={t('Size')}
        value={choice.size}
        options={sizesOf(media, choice.size).map((each) => [each, each.replace('*', ' × ')])}
        onChange={(size) => onChange({ ...choice, size })}
      />
      {seconds ? (
        <Choice
          label={t('Length')}
          value={choice.seconds}
          options={seconds.map((each) => [String(each), t('{count} s', { count: each })])}
          onChange={(length) => onChange({ ...choice, seconds: length })}
        />
      ) : null}
      {steps ? (
        <Field label={t('Steps ({min} to {max})', { min: steps.min, max: steps.max })}>
          <input
            type="number"
            required
            min={steps.min}
            max={steps.max}
            value={choice.steps}
            onInput={(event) => onChange({ ...choice, steps: event.currentTarget.value })}
          />
        </Field>
      ) : null}
    </>
  );
}
