import { Type, type Static } from '@sinclair/typebox'
import type { FactsOf } from '../event-facts.ts'

/** What an upload is for; where it goes and how large it may be follows from it. */
export const uploadPurposes = ['voice_clone', 'prompt_audio', 'video_generation_input'] as const
const UploadPurposeSchema = Type.Union(uploadPurposes.map((one) => Type.Literal(one)))
export type UploadPurpose = (typeof uploadPurposes)[number]

/** A file of a tenant that a provider keeps: its bytes went there and are nowhere else. */
export const uploadEvents = {
  MediaUploaded: Type.Object({
    /** Ours, as callers know it: a positive integer in decimal. */
    fileId: Type.String(),
    tenantId: Type.String(),
    /** Who uploaded it. */
    userId: Type.String(),
    tokenId: Type.String(),
    /** The account it went to, and its id there. */
    channelId: Type.String(),
    upstreamFileId: Type.String(),
    purpose: UploadPurposeSchema,
    /** As its uploader calls it, without a path. */
    filename: Type.String(),
    sizeBytes: Type.Integer({ minimum: 0 }),
    uploadedAt: Type.String(),
    /** RFC 3339; uploads of before they had an end have none. */
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

/** How the names of these streams begin. */
export const uploadStreams = 'upload-'

/** Name of the stream of one upload. */
export function uploadStream(fileId: string): string {
  return `${uploadStreams}${fileId}`
}
