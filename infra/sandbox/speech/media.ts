import type { SandboxFamily } from '../family.ts'
import { addDownloadRoute, addUploadRoute } from './files.ts'
import { speechWire } from './wire.ts'

/** Files of accounts of video, which take them as those of speech do, and the bytes of all files. */
export const mediaFiles: SandboxFamily = {
  name: 'media-files',
  register: (app, kit) => {
    addUploadRoute(app, kit, speechWire(kit, 'video-b'), '/video-b')
    addDownloadRoute(app, kit)
  },
}
