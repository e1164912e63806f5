import type { SandboxAccount, TaskProvider } from '../app/ports.ts'
import type { ImageProvider } from '../app/image-ports.ts'
import type { AssetProvider } from '../app/asset-ports.ts'
import type { MediaProvider } from '../app/media-ports.ts'
import type { SpeechProvider } from '../app/speech-ports.ts'
import type { TextProvider } from '../app/text-ports.ts'
import type { TextFamily } from '../domain/families/text/models.ts'
import type { Clock } from '../kernel/clock.ts'
import { createArtBProvider } from './art-b/upstream/client.ts'
import { artBSandbox } from './art-b/upstream/sandbox.ts'
import { createAssetProvider } from './video-a/library/client.ts'
import { createChatProvider } from './chat/upstream/client.ts'
import { chatSandbox } from './chat/upstream/sandbox.ts'
import { createGenProvider } from './gen/upstream/client.ts'
import { genSandbox } from './gen/upstream/sandbox.ts'
import { createImagesProvider } from './image/upstream/client.ts'
import { imageSandbox } from './image/upstream/sandbox.ts'
import { createNativeProvider } from './native/upstream/client.ts'
import { nativeSandbox } from './native/upstream/sandbox.ts'
import { createResponsesProvider } from './responses/upstream/client.ts'
import { responsesSandbox } from './responses/upstream/sandbox.ts'
import { createSpeechProvider } from './speech/upstream/client.ts'
import { createMediaProvider } from './speech/upstream/media.ts'
import { speechSandbox } from './speech/upstream/sandbox.ts'
import { createSpeechTaskProvider } from './speech/upstream/tasks.ts'
import { createVideoAProvider } from './video-a/upstream/client.ts'
import { videoASandbox } from './video-a/upstream/sandbox.ts'
import { createVideoBProvider } from './video-b/upstream/client.ts'
import { videoBSandbox } from './video-b/upstream/sandbox.ts'
import { createVideoCProvider } from './video-c/upstream/client.ts'
import { videoCSandbox } from './video-c/upstream/sandbox.ts'

/** Accounts of the sandbox for every model of every family. */
export const sandboxAccounts: {
  readonly tasks: readonly SandboxAccount[]
  readonly text: readonly SandboxAccount[]
  readonly images: readonly SandboxAccount[]
  /** Asked at once and as tasks. */
  readonly speech: readonly SandboxAccount[]
} = {
  tasks: [...videoASandbox, videoBSandbox, videoCSandbox],
  text: [chatSandbox, responsesSandbox, nativeSandbox],
  images: [imageSandbox, genSandbox, artBSandbox],
  speech: [speechSandbox],
}

/**
 * Every upstream family there is: a further one is a folder and a line here. `clock` is the wall clock:
 * upstreams compare the times of signed requests with their own.
 */
export function createProviders({ clock }: { readonly clock: Clock }): {
  readonly tasks: ReadonlyMap<string, TaskProvider>
  readonly text: ReadonlyMap<TextFamily, TextProvider>
  readonly images: ReadonlyMap<string, ImageProvider>
  readonly speech: SpeechProvider
  /** Of files and voices, for every family whose accounts keep any. */
  readonly media: MediaProvider
  /** Of the asset libraries of accounts that have one. */
  readonly assets: AssetProvider
  /** Closes every connection; calls in flight fail. */
  readonly close: () => Promise<void>
} {
  const tasks = [
    createVideoAProvider(),
    createVideoBProvider(),
    createVideoCProvider(),
    createSpeechTaskProvider(),
  ]
  const speech = createSpeechProvider()
  const media = createMediaProvider()
  const assets = createAssetProvider(clock)
  const text = [createChatProvider(), createResponsesProvider(), createNativeProvider()]
  const images = [createImagesProvider(), createGenProvider(), createArtBProvider()]
  return {
    tasks: new Map<string, TaskProvider>(tasks.map((provider) => [provider.family, provider])),
    speech,
    media,
    assets,
    text: new Map<TextFamily, TextProvider>(text.map((provider) => [provider.family, provider])),
    images: new Map<string, ImageProvider>(images.map((provider) => [provider.family, provider])),
    close: async () => {
      await Promise.all(
        [...tasks, speech, media, assets, ...text, ...images].map((provider) => provider.close()),
      )
    },
  }
}
