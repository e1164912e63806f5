import { type Owed, owedAt, pricesOf } from '../bill.ts'
import type { UpstreamCall } from '../upstream-record.ts'
import type { SpeechOrder } from './orders.ts'

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
