import type { Channel } from '../../../src/app/ports/provider.ts'

/** The model whose account answers with the bytes of the audio. */
export const RAW = 'speech-2.8-turbo'

/** The channels of a stack with that account beside what it had. */
export function withRawSpeech(ours: readonly Channel[]): readonly Channel[] {
  return ours.flatMap((channel) => {
    const { [RAW]: raw, ...models } = channel.models
    if (channel.family !== 'speech' || raw === undefined) return [channel]
    const other = { id: 'raw', models: { [RAW]: raw }, settings: { audioMode: 'hex' } }
    return [
      { ...channel, models },
      { ...channel, ...other },
    ]
  })
}
