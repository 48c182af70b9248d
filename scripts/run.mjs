/** Run commands with progress that a person can follow, and errors that say what to do. */
import { spawn, spawnSync } from 'node:child_process';
import { childEnvironment, root, windows } from './environment.mjs';

/** A failure whose message is meant for the person at the terminal. */
export class Stop extends Error {}

/** Print what a `Stop` says, or the whole error, and leave with status 1. */
export function exitWith(error) {
  console.error(error instanceof Stop ? `\n${error.message}` : error);
  process.exit(1);
}

/**
 * Run a command quietly under one progress line.
 *
 * @returns what it printed (standard output and error together)
 * @throws Stop with the end of its output and `advice`, if it fails
 */
export async function step(label, command, args, { advice = '', env } = {}) {
  const started = Date.now();
  process.stdout.write(`  ${label} … `);
  const { status, output } = await capture(command, args, env);
  const seconds = ((Date.now() - started) / 1000).toFixed(0);
  if (status !== 0) {
    console.log('failed');
    const tail = output.trimEnd().split('\n').slice(-25).join('\n');
    throw new Stop(
      `${label} failed (${command} ${args.join(' ')}):\n\n${tail}\n\n${advice}`
    );
  }
  console.log(`done (${seconds} s)`);
  return output;
}

/** Run a command with its output on this terminal; resolves with its exit status. */
export async function passThrough(command, args, { env, cwd = root } = {}) {
  const child = spawn(command, args, {
    cwd,
    env: childEnvironment(env),
    stdio: 'inherit',
    shell: needsShell(command)
  });
  const forward = signal => child.kill(signal);
  process.on('SIGINT', forward);
  process.on('SIGTERM', forward);
  try {
    return await ended(child);
  } finally {
    process.off('SIGINT', forward);
    process.off('SIGTERM', forward);
  }
}

/** What a command prints on standard output, or null if it can't be run or fails. */
export function answer(command, args) {
  const result = spawnSync(command, args, {
    encoding: 'utf8',
    env: childEnvironment(),
    cwd: root
  });
  return result.status === 0 ? result.stdout.trim() : null;
}

async function capture(command, args, env) {
  const child = spawn(command, args, {
    cwd: root,
    env: childEnvironment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: needsShell(command)
  });
  let output = '';
  child.stdout.on('data', data => (output += data));
  child.stderr.on('data', data => (output += data));
  return { status: await ended(child), output };
}

function ended(child) {
  return new Promise((resolve, reject) => {
    child.on('error', error =>
      error.code === 'ENOENT'
        ? reject(new Stop(`${error.path} was not found on this computer.`))
        : reject(error)
    );
    child.on('close', (status, signal) => resolve(signal ? 1 : status));
  });
}

/** Node starts Windows' .cmd files only through the shell. */
function needsShell(command) {
  return windows && /^(jlpm|npm|npx)$/.test(command);
}
