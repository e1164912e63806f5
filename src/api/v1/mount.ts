import { limitHeaders } from '../kit/answers/answer-headers.ts'
import type { Mount } from '../kit/routes/surface.ts'
import { v1Envelope } from './envelope.ts'

/** The mount of `/v1`, which surfaces of families share with the routes of no family. */
export const v1: Mount = {
  prefix: '/v1',
  envelopeOf: () => v1Envelope,
  // Inline images, audio and long conversations.
  bodyBytes: 64 * 1024 * 1024,
  body: { passesOn: true, withoutHash: true },
  // The header of the token if there is no `Authorization`: clients of several wires list models here.
  keyHeaders: ['x-api-key'],
  // Every path of the official clients that has no route here.
  notOffered: [
    [/^\/embeddings$/, 'This gateway has no embeddings. GET /v1/models lists what it has'],
    [
      /^\/completions$/,
      'This gateway has no completions of a bare prompt. POST /v1/chat/completions answers messages',
    ],
    [
      /^\/chat\/completions\/./,
      'This gateway keeps no chat completions. GET /v1/receipts/{id} says what one cost',
    ],
    [
      /^\/audio\/(?:transcriptions|translations)$/,
      'This gateway does not transcribe audio. GET /v1/models lists what it has',
    ],
    [
      /^\/images\/variations$/,
      'This gateway makes no variations of an image. POST /v1/images/edits changes one by a prompt',
    ],
    [
      /^\/videos\/(?:characters|edits|extensions)(?:$|\/)/,
      'This gateway has no characters, and edits and extends no video. POST /v1/videos starts from what `input_reference` names',
    ],
    [
      /^\/videos\/[^/]+\/remix$/,
      'This gateway remixes no video. POST /v1/videos starts from what `input_reference` names',
    ],
    [/^\/uploads(?:$|\/)/, 'This gateway takes no file in parts. POST /v1/files takes a whole one'],
    [
      /^\/responses\/[^/]+\/(?:input_items|cancel)$/,
      'This gateway does not list the input of a response, and cancels none. GET /v1/responses/{id} reads one',
    ],
    [
      /^\/(?:conversations|assistants|threads)(?:$|\/)/,
      'This gateway keeps no conversations, assistants or threads. POST /v1/responses continues a response by `previous_response_id`',
    ],
    [
      /^\/moderations$/,
      'This gateway has no moderations. The provider of a model moderates each request itself',
    ],
    [
      /^\/batches(?:$|\/)/,
      'This gateway has no batches. POST /v1/images/generations/async and POST /v1/videos create tasks, and POST /v1/quote prices a request',
    ],
    [
      /^\/(?:organization|projects)\/./,
      'This gateway has no organizations and projects. GET /v1/usage says what a token used, and /api/admin has tenants, users and tokens',
    ],
    [
      /^\/(?:vector_stores|containers|fine_tuning|evals|skills|realtime|chatkit)(?:$|\/)/,
      'This gateway has no vector stores, containers, fine-tuning, evals, skills, realtime sessions or ChatKit. GET /v1/models lists what it has',
    ],
  ],
  keepsAnswers: true,
  reportsLimits: limitHeaders,
  tags: [
    { name: 'Text', description: 'Chat, responses, native generation and models.' },
    { name: 'Images', description: 'Generate and edit images.' },
    { name: 'Videos', description: 'Videos of every family, through the same requests.' },
    { name: 'Files', description: 'Files of a tenant; requests refer to them by id.' },
  ],
}
