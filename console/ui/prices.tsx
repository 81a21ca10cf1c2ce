import { parseUsd } from '../lib/money.ts';
import { isPerToken, type OtherPrice, otherPrices } from '../lib/other-prices.ts';
import { perMillion } from '../lib/price.ts';
import { t } from '../lib/text.ts';
import { Amount } from './amount.tsx';

/** A price per token as the price of a million tokens. */
export function MillionPrice({ price }: { readonly price: string | undefined }) {
  return <Amount value={price === undefined ? undefined : perMillion(price)} />;
}

/** Returns what a model costs besides its input and output tokens, one price a line; a dash when there is nothing. */
export function otherPriceLines(prices: Readonly<Record<string, string>>) {
  const listed = otherPrices(prices);
  return listed.length === 0
    ? '–'
    : listed.map((other) => (
        <div key={`${other.size} ${other.item}`}>
          <Other price={other} />
        </div>
      ));
}

function Other({ price: { price, item, size } }: { readonly price: OtherPrice }) {
  // a price may be smaller than the ledger's smallest amount
  const amount = isPerToken(item) ? perMillion(price) : parseUsd(price);
  return (
    <>
      {amount === undefined ? `$${price}` : <Amount value={amount} />} {itemText(item)}
      {size === undefined ? '' : ` ${t('at {size}', { size: size.replace('*', ' × ') })}`}
    </>
  );
}

function itemText(item: string): string {
  switch (item) {
    case 'request':
      return t('per request');
    case 'image':
      return t('per image');
    case 'video':
      return t('per video');
    case 'second':
      return t('per second');
    case 'web_search':
      return t('per web search');
    case 'input_cache_read':
      return t('per million read from the cache');
    case 'input_cache_write':
      return t('per million written to the cache');
    case 'internal_reasoning':
      return t('per million of reasoning');
    default:
      return item;
  }
}
