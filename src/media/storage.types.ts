import type { Readable } from 'node:stream';
import type { FileContent } from '../lib/file-content.ts';

export interface StoredObject {
  readonly key: string;
  readonly bytes: number;
  readonly mediaType: string;
}

/** An object in a listing. */
export interface ListedObject {
  readonly key: string;
  /** Unix ms. */
  readonly storedAtMs: number;
}

export interface ByteRange {
  readonly start: number;
  /** Inclusive, as in HTTP. */
  readonly end: number;
}

export interface SignOptions {
  /** How long the URL is valid, in seconds. */
  readonly ttlSeconds: number;
  /** File name offered to a browser that saves the file. */
  readonly downloadName?: string;
}

/** The store of finished media. Keys are `/`-separated and made by us, never from client input. */
export interface Storage {
  /** Stores a file under the key, atomically: readers see all of it or nothing. */
  putFile(key: string, content: FileContent, mediaType: string): Promise<StoredObject>;
  /** Returns the properties of an object; undefined when it does not exist. */
  stat(key: string): Promise<StoredObject | undefined>;
  /** Streams an object or an inclusive byte range of it. Throws AppError media_not_found. */
  read(key: string, range?: ByteRange): Promise<Readable>;
  /** Copies an object to a local file. Throws AppError media_not_found. */
  getFile(key: string, path: string): Promise<void>;
  /** Returns a URL that gives anyone who has it read access until it expires. */
  signedUrl(key: string, options: SignOptions): Promise<string>;
  /** Deletes an object. A missing one is not an error. */
  delete(key: string): Promise<void>;
  /**
   * Lists the objects whose keys begin with `prefix` (which ends with a slash), sorted by key, starting after `after`. Yields nothing when
   * another host has the objects, because that host lists them.
   */
  list(prefix: string, after?: string): AsyncIterable<ListedObject>;
  close(): Promise<void>;
}

/** A file that a host without its own storage wants to store. */
export interface UploadRequest {
  readonly key: string;
  readonly mediaType: string;
  readonly bytes: number;
  /** Lowercase hex of the file's hash. */
  readonly sha256: string;
}

/** Permission to PUT exactly that file, valid for minutes. */
export interface UploadGrant {
  /** An absolute URL, or a path of our own API that begins with a slash. */
  readonly url: string;
  /** Must be sent unchanged; what they sign cannot be changed. */
  readonly headers: Readonly<Record<string, string>>;
  /** Unix ms. */
  readonly expiresAt: number;
}

/** Grants uploads. A grant is bound to size and hash, so the receiver rejects any other file. */
export type GrantUpload = (request: UploadRequest) => Promise<UploadGrant>;
