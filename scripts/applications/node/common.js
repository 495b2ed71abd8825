// What the programs of this folder share.
const assert = require('assert/strict');

function step(what) {
  console.log(what);
}

// That something is refused with a number of MySQL's.
async function refused(number, query) {
  try {
    await query();
  } catch (error) {
    const cause = error.original ?? error.parent ?? error.driverError ?? error.cause ?? error;
    assert.equal(cause.errno, number, error);
    return;
  }
  assert.fail(`${number} was expected`);
}

// The program's work. Its connections are closed whatever comes, as they would keep the process.
function run(work) {
  const [port, database] = [Number(process.argv[2]), process.argv[3]];
  work({ host: '127.0.0.1', port, user: 'root', password: '', database }).then(
    () => process.exit(0),
    (error) => {
      console.error(error);
      process.exit(1);
    },
  );
}

module.exports = { assert, step, refused, run };
