import { addCall, type Asker, answerCall } from '../calls/run.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { type Faults } from '../faults/vocabulary.ts'
import { Refusal, type Wire } from '../http/wire.ts'
import { type Fields, textIn } from '../kit/body.ts'
import { IdMaker } from '../kit/clock.ts'
import { flacOf, mp3Of, pcmOf, type SoundFormat, wavOf } from '../media/sound.ts'
import { textHeaders, textWire } from '../text/wire.ts'

/** A server that answers audio and says nothing of what was used. */

const FAMILY = 'audio'
const MODEL = 'reader-1'
const VOICES = new Set(['reader-voice-1', 'reader-voice-2'])
const PARAMETERS = new Set(['model', 'input', 'voice', 'response_format', 'speed'])
const CHARACTER_MS = 60
const LONGEST_MS = 600_000

/** Speaks in one channel of 24,000 samples a second. */
const formats: Readonly<Record<string, { type: string; bytesOf: (sound: SoundFormat) => Buffer }>> =
  {
    mp3: { type: 'audio/mpeg', bytesOf: (sound) => mp3Of({ ...sound, bitrate: 128_000 }) },
    wav: { type: 'audio/wav', bytesOf: wavOf },
    flac: { type: 'audio/flac', bytesOf: flacOf },
    pcm: { type: 'audio/pcm', bytesOf: pcmOf },
  }

function refuse(param: string, message: string, code = 'invalid_value'): never {
  throw new Refusal(code, message, param)
}

/** @throws Refusal */
function parse(body: Fields | null) {
  if (body === null) refuse('body', 'We could not parse the body of your request.')
  if (body['model'] !== MODEL) refuse('model', 'The model does not exist.', 'model_not_found')
  for (const name of Object.keys(body))
    if (!PARAMETERS.has(name)) refuse(name, `Unknown parameter: '${name}'.`, 'unknown_parameter')
  const { input, voice, speed = 1 } = body
  if (typeof input !== 'string' || input === '') refuse('input', 'Invalid input.')
  if (typeof voice !== 'string' || !VOICES.has(voice)) refuse('voice', 'Invalid voice.')
  if (typeof speed !== 'number' || speed < 0.25 || speed > 4) refuse('speed', 'Invalid speed.')
  const format = formats[textIn(body, 'response_format') ?? 'mp3']
  if (format === undefined) refuse('response_format', 'Invalid response_format.')
  return { input, speed, format }
}

function speak(
  { kit, wire, ids }: { readonly kit: FamilyKit; readonly wire: Wire; readonly ids: IdMaker },
  body: Fields | null,
  asker: Asker,
  faults: Faults,
) {
  const { input, speed, format } = parse(body)
  const characters = Array.from(input).length
  const accepted = {
    id: ids.next('aud_'),
    model: MODEL,
    stream: false,
    breaksBy: null,
    wireUsage: { characters },
  }
  return answerCall(kit, wire, { asker, faults }, accepted, () => {
    const durationMs = Math.min(LONGEST_MS, Math.round((characters * CHARACTER_MS) / speed))
    return {
      headers: { ...textHeaders(ids.next('req_'), faults), 'content-type': format.type },
      usage: false,
      body: format.bytesOf({ durationMs, sampleRate: 24_000, channels: 1 }),
    }
  })
}

export const audio: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    const ids = new IdMaker(kit.random)
    const wire = textWire(FAMILY, kit, ids)
    addCall(app, kit, wire, '/audio/v1/audio/speech', (body) => ({
      userText: (body && textIn(body, 'input')) ?? '',
      perform: (asker, faults) => speak({ kit, wire, ids }, body, asker, faults),
    }))
  },
}
