"""The answers of nvidia-smi, of many generations, as texts."""

from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jupyterlab_vram.probe.nvidia_smi.failures import failure
from jupyterlab_vram.probe.nvidia_smi.parse import ParseError, parse
from jupyterlab_vram.probe.nvidia_smi.values import name, number, pid, whole

MIB = 1 << 20
UUID = "GPU-5a5a5a5a-0000-4000-8000-000000000001"


def log(*gpus, driver="580.95.05", cuda="13.0"):
    body = "".join(gpus)
    return (
        '<?xml version="1.0" ?>\n'
        '<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n'
        f"<nvidia_smi_log><timestamp>Mon</timestamp><driver_version>{driver}</driver_version>"
        f"<cuda_version>{cuda}</cuda_version>{body}</nvidia_smi_log>\n"
    )


def board(
    fb="<total>24564 MiB</total><reserved>348 MiB</reserved><used>3404 MiB</used>"
    "<free>20812 MiB</free>",
    processes="",
    more="",
    uuid=UUID,
    bus="00000000:01:00.0",
):
    return (
        f'<gpu id="{bus}"><product_name>NVIDIA GeForce RTX 4090</product_name><uuid>{uuid}</uuid>'
        f"<fb_memory_usage>{fb}</fb_memory_usage>{more}<processes>{processes}</processes></gpu>"
    )


def row(pid, size="3072 MiB", kind="C", program="python", more=""):
    return (
        f"<process_info>{more}<pid>{pid}</pid><type>{kind}</type>"
        f"<process_name>{program}</process_name><used_memory>{size}</used_memory></process_info>"
    )


def only(text):
    (gpu,) = parse(text).gpus
    return gpu


FULL = """
<fan_speed>68 %</fan_speed>
<pci><tx_util>250 KB/s</tx_util><rx_util>1000 KB/s</rx_util></pci>
<utilization><gpu_util>97 %</gpu_util><memory_util>61 %</memory_util>
  <encoder_util>0 %</encoder_util><decoder_util>5 %</decoder_util></utilization>
<temperature><gpu_temp>79 C</gpu_temp>
  <gpu_temp_slow_threshold>90 C</gpu_temp_slow_threshold></temperature>
<gpu_power_readings><average_power_draw>430.00 W</average_power_draw>
  <instant_power_draw>431.50 W</instant_power_draw>
  <current_power_limit>450.00 W</current_power_limit></gpu_power_readings>
<clocks><sm_clock>2610 MHz</sm_clock><mem_clock>10251 MHz</mem_clock></clocks>
<clocks_event_reasons><clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>
  <clocks_event_reason_hw_slowdown>Active</clocks_event_reason_hw_slowdown>
  <clocks_event_reason_hw_thermal_slowdown>Active</clocks_event_reason_hw_thermal_slowdown>
  <clocks_event_reason_gpu_idle>Not Active</clocks_event_reason_gpu_idle></clocks_event_reasons>
"""


def test_a_full_answer():
    answer = parse(log(board(more=FULL, processes=row(4242))))
    assert (answer.driver.version, answer.driver.cuda_version) == ("580.95.05", "13.0")
    (gpu,) = answer.gpus
    assert (gpu.uuid, gpu.index, gpu.name) == (UUID, 0, "NVIDIA GeForce RTX 4090")
    assert gpu.pci_bus_id == "00000000:01:00.0"
    memory = gpu.memory
    assert [memory.total, memory.used, memory.free, memory.reserved] == [
        24564 * MIB,
        3404 * MIB,
        20812 * MIB,
        348 * MIB,
    ]
    assert not memory.unified
    assert (gpu.utilization.gpu, gpu.utilization.memory_bandwidth) == (0.97, 0.61)
    assert (gpu.utilization.encoder, gpu.utilization.decoder) == (0.0, 0.05)
    assert (gpu.temperature.now, gpu.temperature.slowdown) == (79, 90)
    assert (gpu.power.draw, gpu.power.limit) == (431.5, 450)
    assert (gpu.clocks.sm, gpu.clocks.memory) == (2610, 10251)
    assert gpu.fan == 0.68
    assert (gpu.pcie.rx, gpu.pcie.tx) == (1_000_000, 250_000)
    assert gpu.throttling == ["heat", "power"]
    assert gpu.unknown == {}
    assert gpu.health == "ok"
    (process,) = answer.processes
    assert (process.gpu, process.pid, process.bytes, process.type, process.name) == (
        UUID,
        4242,
        3072 * MIB,
        "C",
        "python",
    )


def test_an_old_answer_of_a_small_board():
    text = log(
        board(
            fb="<total>2001 MiB</total><used>300 MiB</used><free>1701 MiB</free>",
            more="<fan_speed>35 %</fan_speed><utilization><gpu_util>N/A</gpu_util></utilization>"
            "<power_readings><power_draw>N/A</power_draw><power_limit>N/A</power_limit>"
            "</power_readings><clocks_throttle_reasons>"
            "<clocks_throttle_reason_sw_thermal_slowdown>Active"
            "</clocks_throttle_reason_sw_thermal_slowdown></clocks_throttle_reasons>",
        ).replace(
            "<processes></processes>",
            "<compute_processes>" + row(9, "100 MiB") + "</compute_processes>"
            "<accounted_processes>" + row(10) + "</accounted_processes>",
        ),
        cuda="",
    )
    answer = parse(text)
    (gpu,) = answer.gpus
    assert gpu.memory.used == 300 * MIB and gpu.memory.reserved is None
    assert gpu.fan == 0.35
    assert gpu.power.draw is None and gpu.unknown["power.draw"] == "N/A"
    assert gpu.utilization.encoder is None and "encoder" in str(gpu.unknown)
    assert gpu.throttling == ["heat"]
    assert gpu.health == "ok"
    assert [process.pid for process in answer.processes] == [9], "ended ones are left out"


@pytest.mark.parametrize(
    "token",
    ["N/A", "[N/A]", "[Not Supported]", "[Unknown Error]", "ERR!", "Insufficient Permissions"],
)
def test_one_odd_token_costs_one_value(token):
    gpu = only(log(board(more=FULL.replace("68 %", token))))
    assert gpu.fan is None
    assert gpu.unknown == {"fan": token}
    assert gpu.memory.used == 3404 * MIB and gpu.utilization.gpu == 0.97
    assert gpu.health == ("sensor-error" if token in ("[Unknown Error]", "ERR!") else "ok")


def test_only_an_id_is_required():
    gpu = only(log('<gpu id="00000000:01:00.0"></gpu>'))
    assert (gpu.uuid, gpu.name) == ("unknown-00000000:01:00.0", "GPU 0")
    assert gpu.memory.total is None and not gpu.memory.unified
    assert gpu.unknown["memory.used"] == "nvidia-smi does not list it."


def test_a_board_without_memory_of_its_own():
    none = "<total>N/A</total><used>N/A</used><free>N/A</free>"
    gpu = only(log(board(fb=none, processes=row(5, "1024 MiB") + row(6, "512 MiB"))))
    assert gpu.memory.unified
    assert gpu.memory.used == 1536 * MIB
    assert gpu.memory.total > gpu.memory.free > 0
    assert not [path for path in gpu.unknown if path.startswith("memory")]
    unsized = only(log(board(fb=none, processes=row(5, "N/A"))))
    assert unsized.memory.used is None and unsized.unknown["memory.used"]


@pytest.mark.parametrize(
    ("words", "health"),
    [
        ("GPU is lost", "lost"),
        ("GPU requires reset", "needs-reset"),
        ("Unknown Error", "sensor-error"),
    ],
)
def test_health(words, health):
    gpu = only(log(board(fb=f"<total>{words}</total><used>{words}</used>")))
    assert gpu.health == health and gpu.memory.used is None


def test_windows_gives_no_sizes_and_names_with_spaces():
    program = r"C:\Program Files\Vendor, Inc\My App &amp; Co.exe"
    (process,) = parse(log(board(processes=row(4, "N/A", "C+G", program)))).processes
    assert process.bytes is None
    assert process.type == "C+G"
    assert process.name == r"C:\Program Files\Vendor, Inc\My App & Co.exe"


@pytest.mark.parametrize(
    "word",
    ["Insufficient Permissions", "[Insufficient Permissions]", "[Not Found]", "Unknown Error"],
)
def test_a_name_that_cannot_be_read_is_none_and_the_size_stays(word):
    (process,) = parse(log(board(processes=row(4242, "2048 MiB", program=word)))).processes
    assert (process.name, process.bytes) == (None, 2048 * MIB)


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=60))
def test_no_name_a_process_chooses_costs_the_reading(program):
    for written in (program, escape(program)):
        answer = parse(log(board(more=FULL, processes=row(4242, program=written))))
        assert answer.gpus[0].memory.used == 3404 * MIB
        assert [(p.pid, p.bytes) for p in answer.processes] == [(4242, 3072 * MIB)]


@pytest.mark.parametrize(
    "program", ["a<b", "R&D", "]]>", "<pid>1</pid>", "\x00\x1b[31m", "&lol;", "</process_name>"]
)
def test_names_that_are_no_xml(program):
    answer = parse(log(board(processes=row(4242, program=program))))
    assert [(p.pid, p.bytes) for p in answer.processes] == [(4242, 3072 * MIB)]


def test_no_entity_is_expanded():
    bomb = log(board(processes=row(1, program="&b;"))).replace(
        "<!DOCTYPE", '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><!DOCTYPE'
    )
    (process,) = parse(bomb).processes
    assert process.name is None


def test_one_pid_in_two_rows_is_one_process():
    rows = row(7, "3072 MiB", "C") + row(7, "120 MiB", "G")
    (process,) = parse(log(board(processes=rows))).processes
    assert (process.bytes, process.type) == (3072 * MIB, "C+G")


def test_slices_are_gpus_and_have_the_processes():
    part = (
        "<mig_device><index>0</index><gpu_instance_id>3</gpu_instance_id>"
        "<compute_instance_id>0</compute_instance_id><fb_memory_usage><total>19968 MiB</total>"
        "<used>14300 MiB</used><free>5668 MiB</free></fb_memory_usage></mig_device>"
    )
    ids = "<gpu_instance_id>3</gpu_instance_id><compute_instance_id>0</compute_instance_id>"
    answer = parse(
        log(
            board(
                more=f"<utilization><gpu_util>N/A</gpu_util></utilization><mig_devices>{part}"
                "</mig_devices>",
                processes=row(8, "14000 MiB", more=ids),
            )
        )
    )
    card, slice_ = answer.gpus
    assert slice_.parent == card.uuid
    assert slice_.uuid == f"MIG-{UUID}/3/0"
    assert slice_.memory.used == 14300 * MIB
    assert card.utilization.gpu is None
    assert [(p.gpu, p.pid) for p in answer.processes] == [(slice_.uuid, 8)]


def test_implausible_processes_are_left_out_and_said():
    answer = parse(log(board(processes=row(3 << 30, "1 MiB"))))
    assert answer.processes == []
    assert "can't be right" in answer.doubt
    assert answer.gpus[0].memory.used == 3404 * MIB


@pytest.mark.parametrize(
    "line",
    [
        "Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error",
        "Unable to determine the device handle for GPU0000:0B:00.0: Unknown Error",
        "Unable to determine the device handle for GPU1: 0000:0B:00.0: Unknown Error",
        "Unable to determine the device handle for GPU 0000:0B:00.0: GPU is lost.  Reboot",
    ],
)
def test_a_lost_gpu_is_named_by_its_bus_id(line):
    answer = parse(f"{line}\n{log(board())}")
    good, lost = answer.gpus
    assert good.health == "ok" and good.memory.used == 3404 * MIB
    assert (lost.health, lost.pci_bus_id) == ("lost", "0000:0B:00.0")
    assert lost.memory.used is None
    trouble = failure(line, 255, worked=False)
    assert trouble.problem.code == "gpu-lost" and "0000:0B:00.0" in trouble.problem.text


@pytest.mark.parametrize(
    "text", ["", "No devices were found\n", "<nvidia_smi_log><gpu></nvidia_smi_log>"]
)
def test_what_is_no_answer(text):
    with pytest.raises(ParseError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "code", "state"),
    [
        ("No devices were found", 6, "no-devices"),
        ("No devices were found", 0, "no-devices"),
        (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
            9,
            "no-driver",
        ),
        ("Failed to initialize NVML: Driver/library version mismatch", 18, "version-mismatch"),
        ("Failed to initialize NVML: Driver/library version mismatch", 0, "version-mismatch"),
        ("Failed to initialize NVML: Insufficient Permissions", 4, "no-permission"),
        ("Failed to initialize NVML: NVML Shared Library Not Found", 12, "no-library"),
        ("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.", 12, "no-library"),
        ("Failed to initialize NVML: Unknown Error", 255, "no-driver"),
        ("", 1, "no-driver"),
    ],
)
def test_every_failure_is_a_state_with_words(text, code, state):
    trouble = failure(text, code, worked=False)
    assert trouble.state == state
    assert trouble.problem.text and trouble.problem.hint


def test_what_worked_and_now_fails_is_lost_access():
    trouble = failure("Failed to initialize NVML: Unknown Error", 255, worked=True)
    assert trouble.state == "lost-access"
    assert "Unknown Error" in trouble.problem.text
    assert failure("Driver/library version mismatch", 18, True).state == "version-mismatch"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("24564 MiB", 24564 * MIB),
        ("0 %", 0),
        ("35 %", 0.35),
        ("431.50 W", 431.5),
        ("-5 C", -5),
        ("4242", 4242),
        ("1000 KB/s", 1e6),
        ("N/A", None),
        ("[N/A]", None),
        ("ERR!", None),
        ("", None),
        ("12 parsecs", None),
        ("nan", None),
        ("1e999", None),
        ("16380\n5", None),
        ("-5 MiB", None),
        ("-1", None),
        ("-3 %", None),
        ("104 %", 1),
        ("99999999999999999999 MiB", None),
        ("9" * 400, None),
    ],
)
def test_numbers(text, value):
    assert number(text) == value


def test_whole_numbers_and_names():
    assert whole("16380 MiB") == 16380 * MIB and isinstance(whole("1 MiB"), int)
    assert whole("N/A") is None
    assert [pid(text) for text in ("4242", " 1 ", "-1", "9" * 19, "9" * 400, "1.5", "N/A")] == [
        4242,
        1,
        -1,
        int("9" * 19),
        None,
        None,
        None,
    ]
    assert name(" a name, with a comma ") == "a name, with a comma"
    assert name("-") is None
