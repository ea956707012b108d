import type { z } from 'zod';
import {
  FileDeleteOutput,
  FileGetOutput,
  type FileListInput,
  FileListOutput,
  type FileNameInput,
  type FilePutInput,
  FilePutOutput,
  type FileShareInput,
  FileShareOutput,
  type FileTools,
  type FileUnshareInput,
  FileUnshareOutput,
  type FileUploadInput,
  FileUploadOutput,
} from '../tools/file-shapes.js';
import type { RemoteService } from './remote-service.js';

/** The files of a wallet that another process holds. */
export class RemoteFiles implements FileTools {
  constructor(private readonly service: RemoteService) {}

  put(body: z.infer<typeof FilePutInput>): Promise<z.infer<typeof FilePutOutput>> {
    return this.#ask(FilePutOutput, 'put', body);
  }

  uploadAddress(body: z.infer<typeof FileUploadInput>): Promise<z.infer<typeof FileUploadOutput>> {
    return this.#ask(FileUploadOutput, 'upload-address', body);
  }

  get(body: z.infer<typeof FileNameInput>): Promise<z.infer<typeof FileGetOutput>> {
    return this.#ask(FileGetOutput, 'get', body);
  }

  list(body: z.infer<typeof FileListInput>): Promise<z.infer<typeof FileListOutput>> {
    return this.#ask(FileListOutput, 'list', body);
  }

  share(body: z.infer<typeof FileShareInput>): Promise<z.infer<typeof FileShareOutput>> {
    return this.#ask(FileShareOutput, 'share', body);
  }

  unshare(body: z.infer<typeof FileUnshareInput>): Promise<z.infer<typeof FileUnshareOutput>> {
    return this.#ask(FileUnshareOutput, 'unshare', body);
  }

  remove(body: z.infer<typeof FileNameInput>): Promise<z.infer<typeof FileDeleteOutput>> {
    return this.#ask(FileDeleteOutput, 'delete', body);
  }

  #ask<T>(schema: z.ZodType<T>, verb: string, body: object): Promise<T> {
    return this.service.ask(schema, { method: 'POST', path: `/files/${verb}`, body });
  }
}
