import type { Mount } from '../kit/surface.ts'
import { v1Envelope } from './envelope.ts'

/** The mount of `/v1`, which surfaces of families share with the routes of no family. */
export const v1: Mount = {
  prefix: '/v1',
  envelopeOf: () => v1Envelope,
  // Inline images, audio and long conversations.
  bodyBytes: 64 * 1024 * 1024,
  body: { passesOn: true, withoutHash: true },
  keepsAnswers: true,
  reportsLimits: true,
  tags: [
    { name: 'Text', description: 'Chat, responses, native generation and models.' },
    { name: 'Images', description: 'Generate and edit images.' },
    { name: 'Videos', description: 'Videos of every family, through the same requests.' },
    { name: 'Files', description: 'Files of a tenant; requests refer to them by id.' },
  ],
}
