import type { Readable } from 'node:stream';
import type { FileContent } from '../lib/file-content.ts';

export interface StoredObject {
  readonly key: string;
  readonly bytes: number;
  readonly mediaType: string;
}

/** An object as a listing shows it. */
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
  /** Seconds the URL stays valid. */
  readonly ttlSeconds: number;
  /** File name offered to a browser that saves it. */
  readonly downloadName?: string;
}

/** Where finished media lives. Keys are `/`-separated, made by us, never from client input. */
export interface Storage {
  /** Stores a file under the key (atomically: readers see all of it or nothing). */
  putFile(key: string, content: FileContent, mediaType: string): Promise<StoredObject>;
  /** Undefined when there is no such object. */
  stat(key: string): Promise<StoredObject | undefined>;
  /** Streams an object or an inclusive byte range of it. Throws AppError media_not_found. */
  read(key: string, range?: ByteRange): Promise<Readable>;
  /** Copies an object to a local file. Throws AppError media_not_found. */
  getFile(key: string, path: string): Promise<void>;
  /** A URL that anyone holding it may GET until it expires. */
  signedUrl(key: string, options: SignOptions): Promise<string>;
  /** Removes an object; removing a missing one is no error. */
  delete(key: string): Promise<void>;
  /**
   * Objects whose keys begin with `prefix` (which ends with a slash), in the order of their keys, from the first after `after`. Nothing
   * where the objects lie with another host: that one lists them.
   */
  list(prefix: string, after?: string): AsyncIterable<ListedObject>;
  close(): Promise<void>;
}

/** One file that a host without storage of its own wants to store. */
export interface UploadRequest {
  readonly key: string;
  readonly mediaType: string;
  readonly bytes: number;
  /** Lower-case hex of the file. */
  readonly sha256: string;
}

/** Leave to PUT exactly that file, for minutes. */
export interface UploadGrant {
  /** Absolute; or a path of our own API that begins with a slash. */
  readonly url: string;
  /** To be sent as they are; what they sign cannot be changed. */
  readonly headers: Readonly<Record<string, string>>;
  /** Unix ms. */
  readonly expiresAt: number;
}

/** Grants uploads. Size and hash are bound: another file is refused where it arrives. */
export type GrantUpload = (request: UploadRequest) => Promise<UploadGrant>;
