import type { FastifyInstance } from 'fastify'
import { acceptCall, addCall, type Asker } from '../calls/run.ts'
import { credentialHash } from '../calls/store.ts'
import type { FamilyKit } from '../family.ts'
import { countOf, type Faults, isOn, wordOf } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import { type Fields, isFields, textIn } from '../kit/body.ts'
import { randomHex } from '../kit/clock.ts'
import { audioUrl, durationOf } from './audio.ts'
import { filesOf, type StoredFile } from './files.ts'
import { charactersOf, refusalAnswer, refusalOf, succeeded } from './parse.ts'
import { FAMILY, reportedOf, type Speakers } from './service.ts'

/** What records and rules call the offer. */
const VOICE_CLONE = 'voice-clone'
const DUPLICATE_VOICE = 2039
const SAMPLE_LENGTH = 2037
const PROMPT_LENGTH = 2048
/** How auditions are made. */
const AUDITION = { sampleRate: 32_000, channels: 1, bitrate: 128_000, format: 'mp3' } as const

const invalid = (what: string) => refusalOf(2013, what)

/** Seconds of a WAV as its head says; null for what has another head. */
function secondsOf({ bytes }: StoredFile): number | null {
  if (bytes.length < 44 || bytes.toString('latin1', 0, 4) !== 'RIFF') return null
  const bytesPerSecond = bytes.readUInt32LE(28)
  return bytesPerSecond === 0 ? null : (bytes.length - 44) / bytesPerSecond
}

/** Clones a voice, under a name no voice has. @throws Refusal */
function clone(
  { kit, voices }: Speakers,
  text: string,
  body: Fields | null,
  asker: Asker,
  faults: Faults,
): Answer {
  const { credential } = asker
  const order = cloneOrder(text, body)
  const seconds = secondsOf(fileOf(kit, credential, order.fileId, 'voice_clone'))
  if (seconds !== null && (seconds < 10 || seconds > 300)) throw refusalOf(SAMPLE_LENGTH)
  if (order.promptId !== null) {
    const prompt = secondsOf(fileOf(kit, credential, order.promptId, 'prompt_audio'))
    if (prompt !== null && prompt >= 8) throw refusalOf(PROMPT_LENGTH)
  }
  const fail = wordOf(faults, 'fail')
  if (fail === null && !voices.add(order.voiceId, credential)) throw refusalOf(DUPLICATE_VOICE)
  if (isOn(faults, 'forget-voice')) voices.drop(order.voiceId)
  const characters = reportedOf(charactersOf(order.audition), faults)
  const durationMs = durationOf(characters, 1)
  const extra = { usage_characters: characters, audio_length: durationMs }
  const id = randomHex(kit.random, 32)
  const call = acceptCall(kit, FAMILY, asker, {
    id,
    model: VOICE_CLONE,
    requestedModel: order.model ?? '',
    safetyIdentifier: null,
    stream: false,
    failCode: fail,
    wireUsage: extra,
    toolCalls: { voice_clone: 1 },
  })
  if (fail !== null) return { ...refusalAnswer(fail, id), call }
  const usage = !isOn(faults, 'no-usage')
  const answer = {
    ...sensitivityOf(faults),
    demo_audio: order.audition === '' ? '' : audioUrl(kit, id, { ...AUDITION, durationMs }),
    ...(usage ? { extra_info: extra } : {}),
  }
  return { ...succeeded(kit, answer), call, usage }
}

function fileOf(kit: FamilyKit, credential: string, id: string, purpose: string): StoredFile {
  const file = filesOf(kit).find(credentialHash(credential), id)
  if (file === undefined || file.purpose !== purpose) throw invalid('file_id')
  return file
}

function sensitivityOf(faults: Faults): object {
  const type = countOf(faults, 'input-sensitive') ?? 0
  return isOn(faults, 'sensitive-flag')
    ? { input_sensitive: type !== 0, input_sensitive_type: type }
    : { input_sensitive: { type } }
}

/** The digits of a member as they were written: parsed, they would be another number. */
function digitsOf(text: string, name: string): string | null {
  return new RegExp(`"${name}"\\s*:\\s*"?(\\d{1,19})\\b`).exec(text)?.[1] ?? null
}

/** @throws Refusal */
function cloneOrder(text: string, body: Fields | null) {
  if (body === null) throw invalid('body')
  const voiceId = textIn(body, 'voice_id') ?? ''
  if (!/^[A-Za-z][\w-]{6,254}[A-Za-z0-9]$/.test(voiceId)) throw invalid('voice_id')
  const fileId = digitsOf(text, 'file_id')
  if (fileId === null || typeof body['file_id'] === 'string') throw invalid('file_id')
  const prompt = body['clone_prompt']
  const promptId = isFields(prompt) ? digitsOf(text, 'prompt_audio') : null
  if (isFields(prompt) && (promptId === null || textIn(prompt, 'prompt_text') === null))
    throw invalid('clone_prompt')
  const audition = textIn(body, 'text') ?? ''
  const model = textIn(body, 'model')
  if (audition.length > 1_000) throw invalid('text')
  if (audition !== '' && model === null) throw invalid('model')
  return { voiceId, fileId, promptId, audition, model }
}

/** Clones a voice. Its audition text or the text of its prompt holds the faults. */
export function addCloneRoute(app: FastifyInstance, speakers: Speakers, at: string): void {
  addCall(app, speakers.kit, speakers.wire, `${at}/v1/voice_clone`, (body, request) => {
    const text = Buffer.isBuffer(request.body) ? request.body.toString('utf8') : ''
    const prompt = body?.['clone_prompt']
    const spoken = [body && textIn(body, 'text'), isFields(prompt) && textIn(prompt, 'prompt_text')]
    return {
      op: 'clone',
      model: VOICE_CLONE,
      userText: spoken.filter((one) => typeof one === 'string').join(' '),
      perform: (asker, faults) => clone(speakers, text, body, asker, faults),
    }
  })
}
