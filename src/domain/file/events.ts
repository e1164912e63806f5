import { Type, type Static } from '@sinclair/typebox'
import { noDescription, type FactsOf } from '../event-facts.ts'

/** The purposes for which a file may be used. */
export const filePurposes = ['vision', 'user_data'] as const
const FilePurposeSchema = Type.Union(filePurposes.map((purpose) => Type.Literal(purpose)))
export type FilePurpose = (typeof filePurposes)[number]

const fileMembers = {
  fileId: Type.String(),
  tenantId: Type.String(),
  /** The uploading user. */
  userId: Type.String(),
}

export const fileEvents = {
  /** Recorded after its bytes are in object storage; they are kept nowhere else. */
  FileUploaded: Type.Object({
    ...fileMembers,
    tokenId: Type.String(),
    purpose: FilePurposeSchema,
    /** Name given by the uploader, without a path. */
    filename: Type.String(),
    sizeBytes: Type.Integer({ minimum: 0 }),
    uploadedAt: Type.String(),
    /** RFC 3339; absent in files of releases in which files did not expire. */
    expiresAt: Type.Optional(Type.String()),
  }),
  FileDeleted: Type.Object({
    ...fileMembers,
    /** The token of the tenant that acted. */
    tokenId: Type.String(),
    deletedAt: Type.String(),
  }),
} as const

export const fileFacts: FactsOf<typeof fileEvents> = {
  FileUploaded: {
    source: (d) => d.fileId,
    at: (d) => d.uploadedAt,
    begins: true,
    words: ({ filename, purpose, sizeBytes }) => `${filename}, ${sizeBytes} bytes, ${purpose}`,
  },
  FileDeleted: { source: (d) => d.fileId, at: (d) => d.deletedAt, words: noDescription },
}

type FileEventType = keyof typeof fileEvents
export type FileEventData<T extends FileEventType> = Static<(typeof fileEvents)[T]>
export type FileEvent = {
  readonly [T in FileEventType]: { readonly type: T; readonly data: FileEventData<T> }
}[FileEventType]

/** Prefix of the names of these streams. */
export const fileStreams = 'file-'

/** Name of the stream of one file. */
export function fileStream(fileId: string): string {
  return `${fileStreams}${fileId}`
}
