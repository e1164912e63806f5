import type { TaskProvider, TextProvider } from '../app/ports.ts'
import type { TextFamily } from '../domain/families/text/models.ts'
import { createChatProvider } from './chat/client.ts'
import { createNativeProvider } from './native/client.ts'
import { createResponsesProvider } from './responses/client.ts'
import { createVideoAProvider } from './video-a/client.ts'

/** Every upstream family there is: a further one is a folder and a line here. */
export function createProviders(): {
  readonly tasks: ReadonlyMap<string, TaskProvider>
  readonly text: ReadonlyMap<TextFamily, TextProvider>
  /** Closes every connection; calls in flight fail. */
  readonly close: () => Promise<void>
} {
  const videoA = createVideoAProvider()
  const text = [createChatProvider(), createResponsesProvider(), createNativeProvider()]
  return {
    tasks: new Map<string, TaskProvider>([videoA].map((provider) => [provider.family, provider])),
    text: new Map<TextFamily, TextProvider>(text.map((provider) => [provider.family, provider])),
    close: async () => {
      await Promise.all([videoA, ...text].map((provider) => provider.close()))
    },
  }
}
