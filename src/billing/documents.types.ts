/** The issuer or recipient of a document. */
export interface Party {
  readonly name: string;
  readonly address: readonly string[];
  readonly tax_id: string | null;
}

export type DocumentKind = 'statement' | 'receipt';

/** A document exactly as it was issued. */
export interface IssuedDocument {
  readonly id: string;
  readonly kind: DocumentKind;
  /** Numbered without gaps within its kind. */
  readonly number: number;
  readonly issuedAt: Date;
  readonly pdf: Buffer;
  readonly pdfSha256: Buffer;
  /** Null on a receipt. */
  readonly csvSha256: Buffer | null;
}

const SERIES: Readonly<Record<DocumentKind, string>> = { statement: 'ST', receipt: 'RC' };

/** Formats a document number for print, e.g. `ST-000042`. */
export function documentNumber(kind: DocumentKind, number: number): string {
  return `${SERIES[kind]}-${String(number).padStart(6, '0')}`;
}
