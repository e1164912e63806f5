import { catalog, families } from '../../src/families/index.ts'
import { sandboxChannels, type SandboxPlace } from '../../src/app/channels/sandbox.ts'
import { type TextSettings, textSettings } from '../../src/families/text/settings.ts'
import type { Channel, SandboxAccount } from '../../src/app/ports/provider.ts'

/** Accounts of families by what they are asked for. */
const accountsOf = (names: string): readonly SandboxAccount[] =>
  families
    .filter(({ rules }) => names.split(' ').includes(rules.name))
    .flatMap(({ sandbox }) => sandbox)

/** The sandbox for every model of a task, one channel a family and region. */
export const sandboxTaskChannels = (place: SandboxPlace): readonly Channel[] =>
  sandboxChannels(catalog, accountsOf('video-a video-b video-c'), place)

/** The sandbox for every text model, one channel a wire. */
export const sandboxTextChannels = (place: SandboxPlace): readonly Channel[] =>
  sandboxChannels(catalog, accountsOf('chat responses native messages'), place)

/** The sandbox for every image model, one channel a family. */
export const sandboxImageChannels = (place: SandboxPlace): readonly Channel[] =>
  sandboxChannels(catalog, accountsOf('image gen art-b'), place)

/** The sandbox for every model that speaks. */
export const sandboxSpeechChannels = (place: SandboxPlace): readonly Channel[] =>
  sandboxChannels(catalog, accountsOf('speech'), place)

/** A channel of text with other settings than it had, where these say so. */
export const withTextSettings = (channel: Channel, settings: TextSettings): Channel => ({
  ...channel,
  settings: { ...textSettings(channel), ...settings },
})
