import { type Owed, owedAt, pricesOf } from '../bill.ts'
import type { Order, Way } from '../calls/order.ts'
import type { Dice } from '../random.ts'
import type { UpstreamCall } from '../upstream-record.ts'

/** Orders of speech that is answered at once, and of clones of voices. */

export interface SpeechOrder extends Order {
  readonly family: 'speech' | 'voice-clone'
  /** What is spoken, or said by the new voice. */
  readonly text: string
  /** Its account answers audio itself, where hexadecimal is asked for. */
  readonly isRaw: boolean
}

export const SPEAK = '/provB/v1/t2a_v2'
const CLONE = '/provB/v1/voice_clone'
/** Of an account that answers audio itself. */
const RAW_MODEL = 'speech-2.8-turbo'
/** Of the account that keeps files and voices. */
const KEEPING_MODELS = ['speech-2.8-hd', 'speech-2.6-hd'] as const
const VOICES = ['male-qn-qingse', 'nova', 'English_Graceful_Lady']

function wayOf(dice: Dice): Way {
  return dice.weighted<Way>([
    [4, 'whole'],
    [2, 'url'],
    [4, 'streamed'],
  ])
}

function switchesOf(dice: Dice, isStreamed: boolean): readonly string[] {
  return dice.weighted<readonly string[]>([
    [60, []],
    [15, [`tokens=${dice.integer(1, 150)}`]],
    [4, ['drop-after-accept']],
    [1, ['hang-after-accept']],
    [2, ['http-after-accept=500']],
    [2, ['http=503']],
    [1, ['http=429']],
    [2, ['drop-before-accept']],
    [2, ['malformed']],
    [2, ['truncated']],
    [1, ['garbage']],
    [1, ['bad-http']],
    [6, ['first-byte-ms=500']],
    [3, ['refuse=1026']],
    [3, ['fail=1027']],
    [2, ['no-usage']],
    [2, ['zero-usage']],
    [isStreamed ? 4 : 0, ['cut-after=1']],
    [isStreamed ? 3 : 0, ['error-after=1']],
    [isStreamed ? 3 : 0, ['cut-before-usage']],
  ])
}

function textOf(marker: string, switches: readonly string[]): string {
  return `a boat [[client=${marker}]] [[sandbox ${switches.join(' ')}]]`
}

/** Speech nobody else orders; `voices` are names of cloned ones. */
export function newSpeechOrder(dice: Dice, marker: string, voices: readonly string[]): SpeechOrder {
  const isCloned = voices.length > 0 && dice.chance(0.3)
  const model = !isCloned && dice.chance(0.3) ? RAW_MODEL : dice.pick(KEEPING_MODELS)
  const way = wayOf(dice)
  const isStreamed = way === 'streamed'
  const switches = switchesOf(dice, isStreamed)
  const text = textOf(marker, switches)
  const format = dice.pick(isStreamed ? ['mp3', 'flac', 'pcm'] : ['mp3', 'flac', 'pcm', 'wav'])
  return {
    marker,
    family: 'speech',
    model,
    way,
    switches,
    text,
    isRaw: model === RAW_MODEL && way !== 'url',
    path: SPEAK,
    body: {
      model,
      text,
      voice_id: dice.pick(isCloned ? voices : VOICES),
      audio_setting: { format },
      ...(isStreamed ? { stream: true } : { output_format: way === 'url' ? 'url' : 'hex' }),
    },
  }
}

/** A voice of a name nobody else gives, which says something at once. */
export function newCloneOrder(dice: Dice, marker: string, fileId: string): SpeechOrder {
  const model = dice.pick(KEEPING_MODELS)
  const switches = switchesOf(dice, false)
  const text = textOf(marker, switches)
  const voiceId = `voice-${marker}`
  return {
    marker,
    family: 'voice-clone',
    model,
    way: 'whole',
    switches,
    text,
    isRaw: false,
    path: CLONE,
    body: { file_id: fileId, voice_id: voiceId, text, model },
  }
}

/** What speech and clones of voices cost; odd on purpose: nothing comes out round. */

export const speechPrices = [
  ...pricesOf(
    {
      'speech-2.8-hd-character': '0.000107',
      'speech-2.8-turbo-character': '0.000061',
      'speech-2.6-hd-character': '0.000083',
    },
    'USD',
    'character',
    1,
  ),
  ...pricesOf({ 'voice-clone': '1.5301' }, 'USD', 'voice', 1),
]

/** So many characters of a model. */
export function owedForCharacters(model: string, characters: number): readonly Owed[] {
  return owedAt(speechPrices, `${model}-character`, characters)
}

/** What is owed for what was spoken or cloned. */
export function owedForSpeech(
  { family, model, text, switches }: SpeechOrder,
  { wire_usage: wire }: UpstreamCall,
): readonly Owed[] {
  const { usage_characters: told } = wire as { readonly usage_characters: number }
  if (family === 'speech') return owedForCharacters(model, told)
  // The voice is there, whatever its answer says of what it said.
  const characters = switches.includes('no-usage') ? text.length : told
  return [...owedAt(speechPrices, 'voice-clone', 1), ...owedForCharacters(model, characters)]
}
