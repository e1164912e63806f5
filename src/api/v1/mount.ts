import type { Mount } from '../kit/surface.ts'
import { v1Envelope } from './envelope.ts'

/** The mount of `/v1`, which surfaces of families share with the routes of no family. */
export const v1: Mount = {
  prefix: '/v1',
  envelopeOf: () => v1Envelope,
  // Inline images, audio and long conversations.
  bodyBytes: 64 * 1024 * 1024,
  body: { passesOn: true, withoutHash: true },
  notOffered: [
    [/^\/embeddings$/, 'This gateway has no embeddings. GET /v1/models lists what it has'],
    [
      /^\/audio\/(?:transcriptions|translations)$/,
      'This gateway does not transcribe audio. GET /v1/models lists what it has',
    ],
    [
      /^\/responses\/[^/]+\/(?:input_items|cancel)$/,
      'This gateway does not list the input of a response, and cancels none. GET /v1/responses/{id} reads one',
    ],
    [
      /^\/responses\/compact$/,
      'This gateway compacts no conversation. POST /v1/responses continues one by `previous_response_id`',
    ],
    [
      /^\/responses\/input_tokens$/,
      'This gateway does not count tokens. POST /v1/quote says what a request would hold',
    ],
    [
      /^\/moderations$/,
      'This gateway has no moderations. The provider of a model moderates each request itself',
    ],
    [
      /^\/batches(?:$|\/)/,
      'This gateway has no batches. POST /v1/images/generations/async and POST /v1/videos create tasks, and POST /v1/quote prices a request',
    ],
  ],
  keepsAnswers: true,
  reportsLimits: true,
  tags: [
    { name: 'Text', description: 'Chat, responses, native generation and models.' },
    { name: 'Images', description: 'Generate and edit images.' },
    { name: 'Videos', description: 'Videos of every family, through the same requests.' },
    { name: 'Files', description: 'Files of a tenant; requests refer to them by id.' },
  ],
}
