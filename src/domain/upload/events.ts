import { Type, type Static } from '@sinclair/typebox'
import type { FactsOf } from '../event-facts.ts'

/** The purpose of an upload; it decides the account and the largest size. */
export const uploadPurposes = ['voice_clone', 'prompt_audio', 'video_generation_input'] as const
const UploadPurposeSchema = Type.Union(uploadPurposes.map((one) => Type.Literal(one)))
export type UploadPurpose = (typeof uploadPurposes)[number]

/** A file of a tenant that a provider keeps: the gateway keeps no copy. */
export const uploadEvents = {
  MediaUploaded: Type.Object({
    /** The gateway's id, which callers use: a positive integer in decimal. */
    fileId: Type.String(),
    tenantId: Type.String(),
    /** The uploading user. */
    userId: Type.String(),
    tokenId: Type.String(),
    /** The account that has the file, and the file's id there. */
    channelId: Type.String(),
    upstreamFileId: Type.String(),
    purpose: UploadPurposeSchema,
    /** The name that its uploader gave it, without a path. */
    filename: Type.String(),
    sizeBytes: Type.Integer({ minimum: 0 }),
    uploadedAt: Type.String(),
    /** RFC 3339; absent in uploads of releases in which uploads did not expire. */
    expiresAt: Type.Optional(Type.String()),
  }),
} as const

export const uploadFacts: FactsOf<typeof uploadEvents> = {
  MediaUploaded: {
    source: (d) => d.fileId,
    at: (d) => d.uploadedAt,
    begins: true,
    words: ({ filename, purpose, sizeBytes, channelId }) =>
      `${filename}, ${sizeBytes} bytes, ${purpose}, to ${channelId}`,
  },
}

type UploadEventType = keyof typeof uploadEvents
export type UploadEventData<T extends UploadEventType> = Static<(typeof uploadEvents)[T]>
export type UploadEvent = {
  readonly [T in UploadEventType]: { readonly type: T; readonly data: UploadEventData<T> }
}[UploadEventType]

/** Prefix of the names of these streams. */
export const uploadStreams = 'upload-'

/** Name of the stream of one upload. */
export function uploadStream(fileId: string): string {
  return `${uploadStreams}${fileId}`
}
