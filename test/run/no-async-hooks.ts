import async_hooks from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

/**
 * Loaded before tap, which else follows every promise and timer to learn which test an error that nobody caught is of:
 * an eighth of all that the tests cost. Such an error ends the process with its stack instead, and so fails the group;
 * `npx tap FILE` says which test it was.
 */

const none: async_hooks.AsyncHook = { enable: () => none, disable: () => none }
async_hooks.createHook = () => none
syncBuiltinESMExports()
