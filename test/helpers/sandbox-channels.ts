import { catalog } from '../../src/families/index.ts'
import { sandboxChannels, type SandboxPlace } from '../../src/app/channels/sandbox.ts'
import type { Channel } from '../../src/app/ports.ts'
import { sandboxAccounts } from '../../src/families/providers.ts'

/** The sandbox for every model of a task, one channel a family and region. */
export const sandboxTaskChannels = (place: SandboxPlace): readonly Channel[] =>
  sandboxChannels(catalog, sandboxAccounts.tasks, place)

/** The sandbox for every text model, one channel a wire. */
export const sandboxTextChannels = (place: SandboxPlace): readonly Channel[] =>
  sandboxChannels(catalog, sandboxAccounts.text, place)

/** The sandbox for every image model, one channel a family. */
export const sandboxImageChannels = (place: SandboxPlace): readonly Channel[] =>
  sandboxChannels(catalog, sandboxAccounts.images, place)

/** The sandbox for every model that speaks. */
export const sandboxSpeechChannels = (place: SandboxPlace): readonly Channel[] =>
  sandboxChannels(catalog, sandboxAccounts.speech, place)
