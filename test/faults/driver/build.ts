import { execFile } from 'node:child_process'
import { cp, mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { checkout } from '../../helpers/checkout.ts'
import { bare, bareEnvironment } from './bare.ts'

const root = fileURLToPath(checkout)
const BUILD_TIMEOUT_MS = 120_000
const run = promisify(execFile)

/** The product as `npm run build` makes it, in a folder of the run's own: others use `dist` meanwhile. */
export interface Build {
  /** `main.js` of the gateway and its command line. */
  readonly main: string
  readonly sandbox: string
}

/** Builds into `directory`. @throws when the compiler finds a fault, with its words */
export async function build(directory: string): Promise<Build> {
  const dist = join(directory, 'dist')
  const compiler = join(root, 'node_modules', '.bin', 'tsc')
  await run(...bare(compiler, ['-p', join(root, 'tsconfig.build.json'), '--outDir', dist]), {
    cwd: root,
    timeout: BUILD_TIMEOUT_MS,
    env: bareEnvironment(),
  }).catch((error: unknown) => {
    const said = error instanceof Error && 'stdout' in error ? String(error.stdout) : ''
    throw new Error(`the build failed: ${String(error)}\n${said}`)
  })
  await mkdir(join(dist, 'infra'), { recursive: true })
  await cp(join(root, 'infra', 'pricebook.yaml'), join(dist, 'infra', 'pricebook.yaml'))
  await cp(join(root, 'package.json'), join(directory, 'package.json'))
  await symlink(join(root, 'node_modules'), join(directory, 'node_modules'))
  return {
    main: join(dist, 'src', 'main.js'),
    sandbox: join(dist, 'infra', 'sandbox', 'main.js'),
  }
}
