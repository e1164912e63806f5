/**
 * tap for a test file that runs alone: `tsconfig.json` maps the import of tap to this module, which tsx follows. The
 * compiled files of a whole run import tap itself.
 */
import './time-limit.ts'

export * from '../../node_modules/tap/dist/esm/index.js'
export { default } from '../../node_modules/tap/dist/esm/index.js'
