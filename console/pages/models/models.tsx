import { mayCall } from '../../api/members.ts';
import { useRead } from '../../api/queries.ts';
import type { Model } from '../../api/types.gen.ts';
import { to, useQueryState } from '../../lib/location.ts';
import { formatCount, t } from '../../lib/text.ts';
import { Id } from '../../ui/copy.tsx';
import { Empty, Loaded } from '../../ui/feedback.tsx';
import { Choice } from '../../ui/field.tsx';
import { TextFilter } from '../../ui/filters.tsx';
import { Panel } from '../../ui/panel.tsx';
import { MillionPrice, otherPriceLines } from '../../ui/prices.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { idsOf, isTried, type ModelKind, matches, modelKind, pricesOf } from './model-kind.ts';

/** The models that the key may use, with all their prices. */
export function ModelsPage() {
  const models = useRead<readonly Model[]>('/api/v1/models');
  const [text, setText] = useQueryState('text', '');
  const [kind, setKind] = useQueryState('kind', '');
  return (
    <div class="page">
      <div class="page-head">
        <h1 tabIndex={-1}>{t('Models')}</h1>
        <div class="page-actions filters">
          <TextFilter label={t('Model')} placeholder={t('Model')} value={text} onChange={setText} />
          <Choice bare label={t('Kind')} value={kind} options={kindOptions()} onChange={setKind} />
        </div>
      </div>
      <Panel flush>
        <Loaded reading={models}>
          {(all) => {
            const shown = all.filter(
              (model) => matches(model, text) && (kind === '' || modelKind(model) === kind),
            );
            return shown.length === 0 ? (
              <Empty text={all.length === 0 ? t('There are no models yet.') : t('No model matches.')} />
            ) : (
              <Table label={t('Models')} columns={columns()} rows={shown} rowKey={({ id }) => id} />
            );
          }}
        </Loaded>
      </Panel>
    </div>
  );
}

function columns(): Column<Model>[] {
  const isText = (model: Model) => !['image', 'video'].includes(modelKind(model));
  return [
    { name: t('Model'), cell: (model) => <Names of={model} />, card: 'wide' },
    { name: t('Kind'), cell: (model) => kindText(modelKind(model)), card: 'named' },
    {
      name: t('Context'),
      cell: (model) => (isText(model) ? formatCount(model.context_length) : '–'),
      number: true,
    },
    {
      name: t('Input, per million'),
      cell: (model) => (isText(model) ? <MillionPrice price={model.pricing.prompt} /> : '–'),
      number: true,
    },
    {
      name: t('Output, per million'),
      cell: (model) =>
        modelKind(model) === 'chat' ? <MillionPrice price={model.pricing.completion} /> : '–',
      number: true,
    },
    { name: t('Other prices'), cell: (model) => otherPriceLines(pricesOf(model)), card: 'wide' },
  ];
}

/** The ids of a model, its name, and where to try it. */
function Names({ of: model }: { readonly of: Model }) {
  const kind = modelKind(model);
  return (
    <>
      {idsOf(model).map((id) => (
        <div key={id}>
          <Id value={id} />
        </div>
      ))}
      {model.name === model.id ? null : <div class="quiet small">{model.name}</div>}
      {mayCall() && isTried(model) ? (
        <a class="small" href={to('playground', { kind: kind === 'chat' ? '' : kind, model: model.id })}>
          {t('Try it')}
        </a>
      ) : null}
    </>
  );
}

function kindText(kind: ModelKind): string {
  switch (kind) {
    case 'image':
      return t('Image');
    case 'video':
      return t('Video');
    case 'embeddings':
      return t('Embeddings');
    case 'rerank':
      return t('Rerank');
    case 'chat':
      return t('Chat');
  }
}

function kindOptions(): [string, string][] {
  const kinds: readonly ModelKind[] = ['chat', 'image', 'video', 'embeddings', 'rerank'];
  return [['', t('All kinds')], ...kinds.map((kind): [string, string] => [kind, kindText(kind)])];
}
