import { type FileHandle, open } from 'node:fs/promises';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import type { FileContent } from '../lib/file-content.ts';
import { digestFile } from './file-digest.ts';
import { StorageError } from './storage-error.ts';

/** Name of the metadata entry with the SHA-256 of the whole object. */
export const SHA256_METADATA = 'sha256';

export interface S3Target {
  readonly Bucket: string;
  readonly Key: string;
}

interface S3File {
  readonly handle: FileHandle;
  readonly bytes: number;
}

/**
 * Stores a file. Content in memory, and files up to `partBytes`, take one request; larger files are sent in parts of that size, so memory
 * holds one part at a time. The hash of each body is signed, so the store rejects bytes that changed in transit. Returns the size. Rethrows
 * SDK errors.
 */
export async function putS3File(
  client: S3Client,
  target: S3Target,
  source: { readonly content: FileContent; readonly mediaType: string },
  partBytes: number,
): Promise<number> {
  const { bytes, sha256 } = await digestFile(source.content);
  const head = { ...target, ContentType: source.mediaType, Metadata: { [SHA256_METADATA]: sha256 } };
  if (typeof source.content !== 'string') {
    await client.send(new PutObjectCommand({ ...head, Body: source.content, ContentLength: bytes }));
    return bytes;
  }
  const handle = await open(source.content, 'r');
  try {
    if (bytes <= partBytes) {
      const Body = await readPart({ handle, bytes }, 0, partBytes);
      await client.send(new PutObjectCommand({ ...head, Body, ContentLength: bytes }));
    } else {
      await putInParts(client, head, { handle, bytes }, partBytes);
    }
    return bytes;
  } finally {
    await handle.close();
  }
}

async function putInParts(
  client: S3Client,
  head: S3Target & { ContentType: string; Metadata: Record<string, string> },
  file: S3File,
  partBytes: number,
): Promise<void> {
  const { Bucket, Key } = head;
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(head));
  const upload = { Bucket, Key, UploadId };
  try {
    const Parts: { PartNumber: number; ETag: string | undefined }[] = [];
    for (let PartNumber = 1; (PartNumber - 1) * partBytes < file.bytes; PartNumber += 1) {
      const Body = await readPart(file, (PartNumber - 1) * partBytes, partBytes);
      const { ETag } = await client.send(
        new UploadPartCommand({ ...upload, PartNumber, Body, ContentLength: Body.length }),
      );
      Parts.push({ PartNumber, ETag });
    }
    await client.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }));
  } catch (error) {
    // Leftover parts take up space until the bucket's lifecycle rule removes them. If this fails, too, the first error matters.
    await client.send(new AbortMultipartUploadCommand(upload)).catch(() => undefined);
    throw error;
  }
}

async function readPart({ handle, bytes }: S3File, start: number, partBytes: number): Promise<Buffer> {
  const part = Buffer.alloc(Math.min(partBytes, bytes - start));
  let filled = 0;
  while (filled < part.length) {
    const { bytesRead } = await handle.read(part, filled, part.length - filled, start + filled);
    if (bytesRead === 0) {
      throw new StorageError('a file shrank while it was being stored');
    }
    filled += bytesRead;
  }
  return part;
}
